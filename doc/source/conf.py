# SPDX-License-Identifier: Apache-2.0
import configparser
import os
import sys

sys.path.insert(0, os.path.abspath('../ext'))

extensions = [
    'openapi_page',
    'openstackdocstheme',
    'oslo_config.sphinxext',
    'oslo_policy.sphinxext',
    'plugins_page',
    'reno.sphinxext',
    'sphinx.ext.autodoc',
    'sphinxcontrib.mermaid',
]

project = 'nova-reservations'
copyright = 'the nova-reservations authors'
html_theme = 'openstackdocs'
openstackdocs_auto_name = False
openstackdocs_auto_version = False
openstackdocs_use_storyboard = False
_setup = configparser.ConfigParser()
_setup.read(os.path.abspath('../../setup.cfg'))
version = release = _setup['metadata']['version']

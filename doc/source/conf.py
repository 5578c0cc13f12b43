# SPDX-License-Identifier: Apache-2.0
import configparser
import os
import sys

sys.path.insert(0, os.path.abspath('../ext'))

extensions = [
    'built_pages',
    'diagrams',
    'openapi_page',
    'openstackdocstheme',
    'oslo_config.sphinxext',
    'oslo_policy.sphinxext',
    'plugins_page',
    'releases',
    'reno.sphinxext',
    'sphinx.ext.autodoc',
]

project = 'nova-reservations'
copyright = 'the nova-reservations authors'
# Most blocks are commands, what they print, and refusals. Others name their
# language.
highlight_language = 'text'
html_theme = 'openstackdocs'
# A page loads nothing from other hosts: built_pages checks it.
html_theme_options = {'analytics_tracking_code': ''}
openstackdocs_auto_name = False
openstackdocs_auto_version = False
openstackdocs_use_storyboard = False
_setup = configparser.ConfigParser()
_setup.read(os.path.abspath('../../setup.cfg'))
version = release = _setup['metadata']['version']


def _sidebar(app, pagename, templatename, context, doctree):
    """Show the pages of a part beside each of them: the lists that the part
    itself hides, because it begins with a table of tasks, too."""
    toctree = context['toctree']
    context['toctree'] = lambda **given: toctree(**given, includehidden=True)


def setup(app):
    app.connect('html-page-context', _sidebar)

# SPDX-License-Identifier: Apache-2.0
"""The page of plugins lists the groups of all entry points."""

from importlib import metadata
import pathlib
import re

PAGE = pathlib.Path(__file__).parents[3] / 'doc/source/admin/plugins.rst'

# Entry points that are no plugins: other programs always load them.
OTHERS = {
    'console_scripts',
    'nova.api.extra_spec_validators',
    'openstack.cli.extension',
    'oslo.config.opts',
    'oslo.messaging.notify.drivers',
    'oslo.policy.policies',
}


def groups():
    points = metadata.distribution('nova-reservations').entry_points
    return {
        point.group
        for point in points
        if point.group not in OTHERS
        and not point.group.startswith('openstack.')
    }


def test_every_kind_of_plugin_is_on_the_page():
    listed = re.findall(r'^\.\. plugins:: (\S+)$', PAGE.read_text(), re.M)
    assert sorted(listed) == sorted(groups())

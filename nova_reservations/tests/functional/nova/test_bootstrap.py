# SPDX-License-Identifier: Apache-2.0
"""A line in the configuration of Nova loads our code into a process of
Nova.
"""

import subprocess
import sys

import pytest

# A command such as nova.cmd.compute does this before it creates its service.
PROCESS = """
import sys
from nova import monkey_patch
monkey_patch.patch(backend='threading')
from nova import config
from nova import objects
if 'other' in sys.argv[1]:
    from nova_reservations import hooks
    hooks.SUPPORTED = range(40, 41)
config.parse_args(['nova-compute', '--config-file', sys.argv[1]])
assert 'nova.compute.manager' not in sys.modules
objects.register_all()
from nova.compute import manager
from nova.compute import resource_tracker
print(
    hasattr(resource_tracker.ResourceTracker._update_usage, '__wrapped__'),
    'nova_reservations.compute.tracker' in sys.modules,
)
"""

# nova.cmd.conductor does this; in a cell it has only the cell's database.
CONDUCTOR = """
import sys
from nova import monkey_patch
monkey_patch.patch(backend='threading')
from nova import config
from nova import objects
config.parse_args(['nova-conductor', '--config-file', sys.argv[1]])
objects.register_all()
from nova.scheduler import utils
print(hasattr(utils.claim_resources, '__wrapped__'))
from nova.conductor import manager
print(
    hasattr(manager.scheduler_utils.claim_resources, '__wrapped__'),
    'nova_reservations.bootstrap' in sys.modules,
)
"""

HEAD = """
[DEFAULT]
transport_url = fake://
"""
DRIVER = """
[oslo_messaging_notifications]
driver = noop
driver = nova_reservations
"""
TRACKING = 'compute_resources = vcpu\n'
MEASURING = """
[metrics_plugins]
enabled = threshold
"""


@pytest.fixture
def start(tmp_path):
    def started(conf, name='nova.conf'):
        file = tmp_path / name
        file.write_text(conf)
        return subprocess.run(
            [sys.executable, '-c', PROCESS, str(file)],
            capture_output=True,
            text=True,
            check=False,
        )

    return started


def found(process):
    assert process.returncode == 0, process.stderr
    return process.stdout.split()


@pytest.mark.parametrize(
    'conf', [HEAD, HEAD + DRIVER, HEAD + TRACKING], ids=repr
)
def test_a_nova_that_is_told_nothing_is_as_it_was(conf, start):
    assert found(start(conf)) == ['False', 'False']


@pytest.mark.parametrize(
    'conf',
    [HEAD + TRACKING + DRIVER, HEAD + DRIVER + MEASURING],
    ids=['resources', 'metrics'],
)
def test_a_line_and_a_plugin_bring_us_in(conf, start):
    assert found(start(conf)) == ['True', 'True']


def test_a_line_brings_us_into_nova_conductor(tmp_path):
    file = tmp_path / 'nova.conf'
    file.write_text(HEAD + DRIVER)
    process = subprocess.run(
        [sys.executable, '-c', CONDUCTOR, str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found(process) == ['False', 'True', 'False']


def test_a_nova_that_does_not_fit_ends_with_one_line(start):
    process = start(HEAD + TRACKING + DRIVER, name='other.conf')
    assert process.returncode == 1
    *_, line = process.stderr.strip().splitlines()
    assert line.startswith('nova_reservations can not hook into Nova ')
    assert 'supported are 40' in line

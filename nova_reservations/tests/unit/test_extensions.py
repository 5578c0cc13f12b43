# SPDX-License-Identifier: Apache-2.0
import logging

import pytest

from nova_reservations import extensions
from nova_reservations.compute import memory
from nova_reservations.compute import resources
from nova_reservations.compute import vcpu

NAMESPACE = 'nova.compute.resources'
OPTION = '[DEFAULT] compute_resources'


def load(*names, base=resources.Resource):
    return extensions.load(NAMESPACE, names, base, OPTION)


def test_plugins_are_loaded_in_the_order_of_the_option():
    assert list(load('vcpu', 'memory', 'vcpu').found.items()) == [
        ('vcpu', vcpu.Vcpu),
        ('memory', memory.Memory),
    ]


def test_nothing_is_loaded_that_is_not_named():
    assert load() == extensions.Loaded({}, {})


@pytest.mark.parametrize('name', ['vcpus', 'plugins', ''])
def test_an_unknown_name_is_one_clear_error_and_the_rest_loads(name, caplog):
    caplog.set_level(logging.WARNING)
    loaded = load(name, 'memory')
    assert list(loaded.found) == ['memory']
    assert list(loaded.missing) == [name]
    [line] = caplog.messages
    assert line == (
        f'[DEFAULT] compute_resources names {name}: '
        'no installed package offers it in nova.compute.resources'
    )


def test_what_is_no_plugin_is_refused(caplog):
    loaded = load('vcpu', 'memory', base=memory.Memory)
    assert list(loaded.found) == ['memory']
    assert loaded.missing == {'vcpu': 'it is no Memory'}
    assert len(caplog.messages) == 1

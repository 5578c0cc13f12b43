# SPDX-License-Identifier: Apache-2.0
import logging

from oslo_config import cfg
import pytest

from nova_reservations import exception
from nova_reservations import plugin_loader
from nova_reservations.compute import memory
from nova_reservations.compute import resources
from nova_reservations.compute import vcpu
from nova_reservations.engine import resource_types
from nova_reservations.plugins.monitors import base as monitor
from nova_reservations.testing import fake_cloud
from nova_reservations.types import base as types
from nova_reservations.types.neutron import floatingip
from nova_reservations.types.servers import host

NAMESPACE = 'nova.compute.resources'
OPTION = '[DEFAULT] compute_resources'


def load(*names, base=resources.Resource):
    return plugin_loader.load(NAMESPACE, names, base, OPTION)


def test_plugins_are_loaded_in_the_order_of_the_option():
    assert list(load('vcpu', 'memory', 'vcpu').found.items()) == [
        ('vcpu', vcpu.Vcpu),
        ('memory', memory.Memory),
    ]


def test_nothing_is_loaded_that_is_not_named():
    assert load() == plugin_loader.Loaded({}, {})


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


def test_an_object_that_is_no_plugin_is_refused(caplog):
    loaded = load('vcpu', 'memory', base=memory.Memory)
    assert list(loaded.found) == ['memory']
    assert loaded.missing == {'vcpu': 'it is no Memory'}
    assert len(caplog.messages) == 1


class TestWhatTheProcessCanNotDoWithout:
    def make(self, *names, base=types.ResourceType, conf=None):
        return plugin_loader.make(
            'nova_reservations.resources',
            names,
            base,
            '[reservations] resource_types',
            exception.UnknownResourceType,
            fake_cloud.FakeCloud(),
            conf,
        )

    def test_objects_are_made(self, opts):
        [(name, made)] = self.make('physical:host', conf=opts).items()
        assert name == 'physical:host'
        assert isinstance(made, host.PhysicalHost)
        assert made.conf is opts

    def test_an_unknown_name_ends_it(self):
        with pytest.raises(exception.UnknownResourceType) as refusal:
            self.make('physical:hosts')
        assert str(refusal.value) == (
            '[reservations] resource_types names physical:hosts: no '
            'installed package offers it in nova_reservations.resources'
        )

    def test_a_plugin_that_fails_ends_the_process(self):
        with pytest.raises(exception.UnknownResourceType) as refusal:
            self.make('physical:host', conf=cfg.ConfigOpts())
        assert str(refusal.value).startswith(
            '[reservations] resource_types names physical:host: it can not '
            'be made: NoSuchOptError: '
        )

    def test_a_plugin_of_another_kind_ends_the_process(self, opts):
        with pytest.raises(
            exception.UnknownResourceType, match='it is no Monitor'
        ):
            self.make('physical:host', base=monitor.Monitor, conf=opts)


def test_a_type_that_is_installed_only_and_fails_is_told_and_left_out(
    opts, caplog, monkeypatch
):
    def fail(*_):
        raise OSError('no licence')

    opts.set_override('resource_types', ['physical:host'], 'reservations')
    monkeypatch.setattr(floatingip.FloatingIP, '__init__', fail)
    made = resource_types.switched_off(opts, fake_cloud.FakeCloud())
    assert 'virtual:floatingip' not in made
    assert {'virtual:network', 'virtual:stack'} <= made.keys()
    assert 'names virtual:floatingip: it can not be made: OSError: no' in (
        caplog.text
    )

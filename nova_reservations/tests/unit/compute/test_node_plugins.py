# SPDX-License-Identifier: Apache-2.0
import logging
from typing import ClassVar

from oslo_config import cfg
import pytest

from nova_reservations import plugin_loader
from nova_reservations.compute import node_plugins
from nova_reservations.compute import resources
from nova_reservations.tests.unit.compute import hosts
from nova_reservations.tracking import stats

SLOTS = 4


class Slots(resources.Quantity):
    resource_classes = frozenset({'CUSTOM_SLOTS'})
    traits = frozenset({'CUSTOM_HAS_SLOTS'})

    def capacity(self, host):
        return SLOTS

    def amount(self, usage):
        return usage.vcpus

    def inventory(self):
        return resources.Inventory(
            {'CUSTOM_SLOTS': {'total': SLOTS}}, self.traits
        )


class Broken(Slots):
    """Fails in the method, and gives the answers, that a test sets."""

    broken = ''
    answers: ClassVar = {}

    def __getattribute__(self, name):
        cls = type(self)
        if name == cls.broken:

            def fails(*_):
                raise RuntimeError('out of order')

            fails.__name__ = name
            return fails
        if name in cls.answers:
            return lambda *_: cls.answers[name]
        return super().__getattribute__(name)


def books_of(missing=(), **plugins):
    return node_plugins.NodePlugins(
        plugin_loader.Loaded(plugins, dict(missing)), cfg.ConfigOpts()
    )


@pytest.fixture
def broken():
    return type('Broken', (Broken,), {'answers': {}})


def figures(kept, name):
    report = stats.decode(kept.report(), name)
    return None if report is None else report.figures


def test_states_follow_what_is_added_and_removed():
    kept = books_of(slots=Slots)
    kept.reset(hosts.host())
    one, other = hosts.usage('one', vcpus=1), hosts.usage('other', vcpus=2)
    for step, used in (
        (lambda: kept.add(one), 1),
        (lambda: kept.add(other), 3),
        (lambda: kept.remove(one), 2),
        (lambda: kept.reset(hosts.host()), 0),
    ):
        step()
        assert figures(kept, 'slots') == {'total': SLOTS, 'used': used}


def test_a_server_that_does_not_fit_is_told_why():
    kept = books_of(slots=Slots)
    kept.reset(hosts.host())
    kept.add(hosts.usage('one', vcpus=3))
    assert kept.test(hosts.usage(vcpus=1)) == []
    assert kept.test(hosts.usage(vcpus=2)) == [
        'slots: 2 asked, 1 of 4 free',
    ]


def test_a_server_that_takes_nothing_fits_also_where_too_much_was_taken():
    kept = books_of(slots=Slots)
    kept.reset(hosts.host())
    kept.add(hosts.usage('one', vcpus=9))
    assert kept.test(hosts.usage(vcpus=0)) == []


def test_room_that_was_promised_is_not_promised_twice():
    kept = books_of(slots=Slots)
    kept.reset(hosts.host())
    moving = hosts.usage('moving', vcpus=3)
    kept.promise(moving)
    assert kept.test(hosts.usage('other', vcpus=2))
    assert kept.test(moving) == []
    assert figures(kept, 'slots')['used'] == 0
    kept.withdraw(moving.server)
    assert kept.test(hosts.usage('other', vcpus=2)) == []


def test_an_audit_that_came_too_early_breaks_no_promise():
    kept = books_of(slots=Slots)
    kept.reset(hosts.host())
    moving = hosts.usage('moving', vcpus=3)
    kept.promise(moving)
    # The record of the migration does not name this host yet.
    kept.reset(hosts.host())
    assert kept.test(hosts.usage('other', vcpus=2))
    kept.reset(hosts.host())
    kept.add(moving)
    assert kept.test(hosts.usage('other', vcpus=1)) == []


def test_a_server_that_never_comes_is_not_waited_for_without_end():
    kept = books_of(slots=Slots)
    kept.reset(hosts.host())
    kept.promise(hosts.usage('moving', vcpus=3))
    for _ in range(node_plugins.AUDITS):
        assert kept.test(hosts.usage('other', vcpus=2))
        kept.reset(hosts.host())
    assert kept.test(hosts.usage('other', vcpus=2)) == []


def test_a_server_that_nova_counts_is_not_promised_room_as_well():
    kept = books_of(slots=Slots)
    kept.reset(hosts.host())
    moving = hosts.usage('moving', vcpus=3)
    kept.promise(moving)
    kept.add(moving)
    assert kept.test(hosts.usage('other', vcpus=1)) == []


@pytest.mark.parametrize(
    'method',
    ['reset', 'add_instance', 'remove_instance', 'test', 'write', 'inventory'],
)
def test_a_plugin_that_raises_breaks_nothing(method, broken, caplog):
    caplog.set_level(logging.ERROR)
    broken.broken = method
    kept = books_of(wild=broken, slots=Slots)
    for _ in range(5):
        kept.reset(hosts.host())
        kept.add(hosts.usage('one', vcpus=1))
        assert 'slots: 4 asked, 3 of 4 free' in kept.test(hosts.usage(vcpus=4))
        kept.remove(hosts.usage('one', vcpus=1))
        kept.inventory(resources.Inventory())
        assert figures(kept, 'slots') == {'total': SLOTS, 'used': 0}
    assert 'Plugin wild has failed in' in caplog.text
    told = stats.plugins(kept.report())
    assert told.running == {'slots': 1}
    assert told.off['wild'] == (
        f'it failed 3 times, at last in {method}: RuntimeError'
    )
    # No more lines than failures.
    assert caplog.text.count('Plugin wild has failed') == 3


def test_figures_that_may_be_wrong_are_not_reported_until_the_next_audit(
    broken,
):
    kept = books_of(wild=broken)
    kept.reset(hosts.host())
    broken.broken = 'add_instance'
    kept.add(hosts.usage('one', vcpus=4))
    broken.broken = ''
    assert figures(kept, 'wild') is None
    assert stats.plugins(kept.report()).off == {
        'wild': 'it failed in add_instance'
    }
    assert kept.test(hosts.usage('two', vcpus=9)) == []
    kept.reset(hosts.host())
    assert figures(kept, 'wild') == {'total': SLOTS, 'used': 0}


def test_failures_with_good_audits_between_them_are_forgiven(broken):
    kept = books_of(wild=broken)
    for _ in range(9):
        broken.broken = 'test'
        kept.reset(hosts.host())
        kept.test(hosts.usage())
        broken.broken = ''
        kept.reset(hosts.host())
        kept.reset(hosts.host())
        assert figures(kept, 'wild') is not None


def test_a_plugin_that_is_off_is_tried_again_after_a_reload(broken):
    kept = books_of(wild=broken)
    broken.broken = 'reset'
    for _ in range(4):
        kept.reset(hosts.host())
    broken.broken = ''
    kept.reset(hosts.host())
    assert figures(kept, 'wild') is None
    kept.restart()
    kept.reset(hosts.host())
    assert figures(kept, 'wild') == {'total': SLOTS, 'used': 0}


@pytest.mark.parametrize(
    ('method', 'answer'),
    [
        ('write', None),
        ('write', {'total': float('inf')}),
        ('write', {'total': 1, 'words': 'x' * 10000}),
        ('write', {'total': object()}),
        ('test', False),
        ('test', 7),
        ('inventory', None),
        ('inventory', resources.Inventory({'CUSTOM_SLOTS': {'total': 0}})),
        ('inventory', resources.Inventory({'CUSTOM_SLOTS': {'total': 'x'}})),
        ('inventory', resources.Inventory({'CUSTOM_SLOTS': {}})),
        ('inventory', resources.Inventory({'CUSTOM_SLOTS': 7})),
        ('inventory', resources.Inventory({'VCPU': {'total': 1}})),
        ('inventory', resources.Inventory({'CUSTOM_OTHER': {'total': 1}})),
        ('inventory', resources.Inventory(7)),
        ('inventory', resources.Inventory(traits=frozenset({'HW_X'}))),
        ('inventory', resources.Inventory(traits=frozenset({7, 'x'}))),
        ('inventory', resources.Inventory(traits=None)),
    ],
)
def test_a_plugin_that_lies_breaks_nothing(method, answer, broken):
    broken.answers = {method: answer}
    kept = books_of(wild=broken, slots=Slots)
    placement = resources.Inventory(
        {'CUSTOM_SLOTS': {'total': 9}, 'VCPU': {'total': 8}},
        frozenset({'CUSTOM_HAS_SLOTS', 'CUSTOM_ANY'}),
    )
    for _ in range(4):
        kept.reset(hosts.host())
        kept.add(hosts.usage('one', vcpus=1))
        assert kept.test(hosts.usage(vcpus=2)) == []
        assert kept.inventory(placement).resources == {
            'CUSTOM_SLOTS': {'total': SLOTS, **node_plugins.DEFAULTS}
        }
        assert figures(kept, 'slots') == {'total': SLOTS, 'used': 1}
    assert stats.plugins(kept.report()).off['wild'].startswith('it failed 3')


def test_the_inventory_of_a_plugin_that_fails_stays_as_it_was(broken):
    broken.broken = 'reset'
    kept = books_of(wild=broken)
    kept.reset(hosts.host())
    amounts = {'total': 9, 'reserved': 2}
    before = resources.Inventory(
        {'CUSTOM_SLOTS': amounts, 'VCPU': {'total': 8}},
        frozenset({'CUSTOM_HAS_SLOTS', 'CUSTOM_OTHER'}),
    )
    assert kept.inventory(before) == resources.Inventory(
        {'CUSTOM_SLOTS': amounts}, frozenset({'CUSTOM_HAS_SLOTS'})
    )
    assert kept.inventory(resources.Inventory()) == resources.Inventory()


def test_a_plugin_that_is_not_there_is_told_of():
    kept = books_of({'cux': 'no installed package offers it'}, slots=Slots)
    kept.reset(hosts.host())
    assert stats.plugins(kept.report()) == stats.Plugins(
        {'slots': 1}, {'cux': 'no installed package offers it'}
    )


def test_a_plugin_that_says_too_much_does_not_silence_the_others(broken):
    class Talker(Slots):
        def write(self):
            return {'total': 1, 'words': 'x' * 5000}

    kept = books_of(one=Talker, two=Talker, slots=Slots)
    kept.reset(hosts.host())
    told = stats.plugins(kept.report())
    assert len(told.running) == 2
    assert 'slots' in told.running


def test_a_resource_that_a_host_does_not_have_is_no_failure(caplog):
    caplog.set_level(logging.INFO)

    class Absent(Slots):
        def reset(self, host):
            raise resources.Unavailable('there are no slots')

    kept = books_of(absent=Absent)
    for _ in range(5):
        kept.reset(hosts.host())
        kept.add(hosts.usage())
        assert kept.test(hosts.usage()) == []
    assert stats.plugins(kept.report()) == stats.Plugins(
        {}, {'absent': 'there are no slots'}
    )
    assert not caplog.messages


@pytest.mark.parametrize('names', [None, {'CUSTOM_X'}, frozenset({'VCPU'})])
def test_a_plugin_that_declares_nonsense_is_not_used(names):
    class Nonsense(Slots):
        traits = names

    kept = books_of(wild=Nonsense, slots=Slots)
    kept.reset(hosts.host())
    told = stats.plugins(kept.report())
    assert dict(told.running) == {'slots': 1}
    assert told.off['wild'].startswith('its resource_classes or traits')

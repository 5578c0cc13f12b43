# SPDX-License-Identifier: Apache-2.0
"""Amounts of the usage of leases."""

import datetime
import decimal

from hypothesis import given
from hypothesis import strategies
import pytest

from nova_reservations import exception
from nova_reservations import plugin_loader
from nova_reservations.objects import interval
from nova_reservations.plugins.rating import base
from nova_reservations.plugins.rating import shipped
from nova_reservations.testing import options
from nova_reservations.tests.examples import premium

Decimal = decimal.Decimal

NOON = datetime.datetime(2030, 1, 1, 12, tzinfo=datetime.UTC)
HOUR = datetime.timedelta(hours=1)


def conf(**values):
    opts = options.defaults()
    for name, value in values.items():
        opts.set_override(name, value, 'reservations')
    return opts


def usage(reserved=None, degraded=None, used=None, started=0, window=(0, 1)):
    """Times are hours from noon on; usage is in unit-hours."""
    return base.LeaseUsage(
        lease_id='lease',
        name='a lease',
        lease_type='scheduled',
        project_id='lessee',
        user_id='user',
        window=interval.Interval(*(NOON + HOUR * hour for hour in window)),
        started_at=NOON + HOUR * started,
        ended_at=None,
        seconds=3600,
        **{
            kind: {name: hours * 3600 for name, hours in (sums or {}).items()}
            for kind, sums in (
                ('reserved', reserved),
                ('degraded', degraded),
                ('used', used),
            )
        },
    )


def test_a_flat_price_is_due_in_the_window_in_which_a_lease_begins():
    rating = shipped.Flat(conf(rating_flat_price='12.50'))
    costs = [
        rating.rate(usage(started=3, window=(start, start + 2)))
        for start in range(0, 8, 2)
    ]
    assert costs == [0, Decimal('12.50'), 0, 0]


def test_reserved_time_costs_by_its_class():
    prices = ['physical:host=1.20', 'VCPU=0.02']
    rating = shipped.Reserved(conf(rating_prices=prices))
    held = {'physical:host': 2, 'VCPU': 128, 'MEMORY_MB': 4096}
    assert rating.rate(usage(reserved=held)) == Decimal('4.96')


@pytest.mark.parametrize(('is_due', 'cost'), [(False, 6), (True, 8)])
def test_time_that_could_not_be_used_is_free_unless_an_option_says_so(
    is_due, cost
):
    rating = shipped.Reserved(
        conf(rating_prices=['slots=2'], rating_degraded=is_due)
    )
    assert cost == rating.rate(usage({'slots': 4}, degraded={'slots': 1}))


def test_used_time_costs_and_nothing_else():
    rating = shipped.Used(conf(rating_prices=['VCPU=0.5', 'servers=1']))
    used = {'VCPU': 3, 'servers': 2}
    assert rating.rate(usage({'VCPU': 64}, used=used)) == Decimal('3.5')


UNITS = strategies.dictionaries(
    strategies.sampled_from(['VCPU', 'slots', 'physical:host']),
    strategies.integers(0, 10**6),
)


@given(UNITS, UNITS)
def test_amounts_are_exact(reserved, thousandths):
    prices = [
        f'{name}={cost / 1000:.3f}' for name, cost in thousandths.items()
    ]
    rating = shipped.Reserved(conf(rating_prices=prices))
    expected = sum(
        hours * thousandths.get(name, 0) for name, hours in reserved.items()
    )
    assert rating.rate(usage(reserved)) * 1000 == expected


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('rating_prices', 'VCPU'),
        ('rating_prices', 'VCPU=-1'),
        ('rating_prices', 'VCPU=1,5'),
        ('rating_flat_price', '1e9'),
    ],
)
def test_a_price_that_is_none_is_refused(name, value):
    with pytest.raises(ValueError):
        conf(**{name: value.split(', ')})


def test_a_rating_that_is_not_installed_stops_the_process():
    with pytest.raises(exception.UnknownRating) as refused:
        plugin_loader.make(
            'nova_reservations.rating',
            ['moon'],
            base.Rating,
            '[reservations] rating',
            exception.UnknownRating,
            conf(),
        )
    assert '[reservations] rating names moon' in str(refused.value)


def test_the_example_of_the_documentation_rates():
    rating = premium.Premium(conf(rating_unit='EUR'))
    assert rating.unit == 'EUR'
    cost = rating.rate(usage({'VCPU': 100}, used={'VCPU': 60}))
    assert cost == Decimal('2.4')

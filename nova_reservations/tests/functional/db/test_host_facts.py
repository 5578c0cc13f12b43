# SPDX-License-Identifier: Apache-2.0
"""Each database finds hosts by the facts that Nova's filters judge."""

import json

import pytest
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.cloud.hosts import host_specs as judge
from nova_reservations.db import models
from nova_reservations.db.holdings import candidates
from nova_reservations.db.holdings import freed_resources
from nova_reservations.db.holdings import withdrawals
from nova_reservations.db.resources import host_facts
from nova_reservations.db.resources import hosts
from nova_reservations.db.resources import judgements
from nova_reservations.db.resources import requirements as sql
from nova_reservations.objects import demand
from nova_reservations.objects import host_specs
from nova_reservations.objects import requirements
from nova_reservations.testing import fake_cloud
from nova_reservations.tests import booking

SSD = 'aggregate_instance_extra_specs:ssd'
FEATURES = 'capabilities:cpu_info:features'
CORES = 'capabilities:cpu_info:topology:cores'


def specs(features, cores, **metadata):
    cpu_info = {'features': features, 'topology': {'cores': cores}}
    pairs = {
        'cpu_info': json.dumps(cpu_info),
        **{
            f'aggregate_instance_extra_specs:{key}': value
            for key, value in metadata.items()
        },
    }
    return tuple(sorted(pairs.items()))


def of(expression):
    """Return the demand for a host that meets requirements."""
    return demand.Demand(objects.HOST, 1, 1, expression)


HOSTS = {
    'one': specs(['aes', 'avx2'], 8, ssd='true'),
    'two': specs(['aes'], 8, ssd='True'),
    'three': specs(['aes', 'avx2'], 8, ssd='true,fast'),
    'four': specs([], 32),
    'five': (),
}


def meeting(session, asked):
    expression = requirements.parse(asked, nova=host_specs.Words(judge.passes))
    query = sa.select(models.Resource.id)
    found = set(
        session.scalars(sql.meeting(session, query, objects.HOST, expression))
    )
    enrolled = hosts.get_all(session, range(1000))
    assert found == {
        host.id
        for host in enrolled
        if requirements.meets(
            expression, freed_resources.facts_of(host), host.facts.traits
        )
    }
    return {each.facts.service_host for each in enrolled if each.id in found}


@pytest.fixture
def enrolled(any_database):
    with any_database.writer() as session:
        return {
            name: booking.enrol(
                session,
                name,
                specs=its,
                cpu_info=dict(its).get('cpu_info', ''),
            )
            for name, its in HOSTS.items()
        }


@pytest.mark.parametrize(
    ('asked', 'expected'),
    [
        ({FEATURES: '<in> avx2'}, {'one', 'three'}),
        ({FEATURES: '<all-in> aes avx2', CORES: '>= 8'}, {'one', 'three'}),
        ({CORES: '= 9'}, {'four'}),
        ({CORES: '<or> 32 <or> 9'}, {'four'}),
        ({SSD: 'true'}, {'one', 'three'}),
        ({SSD: 'fast'}, {'three'}),
        ({SSD: 's!= true'}, {'two', 'three'}),
        (['not', {SSD: 'true'}], {'two', 'four', 'five'}),
        (['or', {SSD: 'True'}, {CORES: '32'}], {'two', 'four'}),
        ({SSD + ' ': 'true'}, set()),
        ({'capabilities:cpu_info:nothing': '1'}, set()),
    ],
)
def test_hosts_are_found_by_what_nova_judges(
    any_database, enrolled, asked, expected
):
    with any_database.reader() as session:
        assert meeting(session, asked) == expected


def test_equal_hosts_share_a_value(any_database, enrolled):
    with any_database.reader() as session:
        found = host_facts.values(session, 'cpu_info', 10)
        assert len(found) == 3
        assert dict(hosts.get(session, enrolled['one']).facts.specs) == dict(
            HOSTS['one']
        )


def test_a_value_that_no_host_has_any_more_is_not_judged(
    any_database, enrolled
):
    changed = fake_cloud.facts('four', specs=HOSTS['one'])
    with any_database.writer() as session:
        hosts.set_facts(session, enrolled['four'], changed, booking.NOW)
        withdrawals.remove_host(session, enrolled['two'])
    with any_database.reader() as session:
        assert len(host_facts.values(session, 'cpu_info', 10)) == 1
        assert meeting(session, {SSD: 'true'}) == {'one', 'three', 'four'}


def test_a_fact_with_too_many_values_is_refused(
    any_database, enrolled, monkeypatch
):
    monkeypatch.setattr(judgements, 'MOST_VALUES', 2)
    with (
        any_database.reader() as session,
        pytest.raises(exception.InvalidInput, match='more than 2 values'),
    ):
        meeting(session, {CORES: '8'})


def test_a_value_is_judged_once_in_a_transaction(any_database, enrolled):
    judged = []

    def passes(*asked):
        judged.append(asked)
        return judge.passes(*asked)

    with any_database.reader() as session:
        for _ in range(2):
            expression = requirements.parse(
                {CORES: '8'}, nova=host_specs.Words(passes)
            )
            assert set(candidates.meeting_all(session, of(expression))) == {
                enrolled[name] for name in ('one', 'two', 'three')
            }
    assert len(judged) == len(set(judged)) == 3


def test_a_transaction_judges_so_much_and_as_much_for_others(
    any_database, enrolled, monkeypatch
):
    monkeypatch.setattr(judgements, 'MOST', 7)
    with any_database.reader() as session:
        with judgements.of_others(session):
            meeting(session, {CORES: '1'})
            meeting(session, {CORES: '2'})
        for cores in ('8', '32', '8'):
            meeting(session, {CORES: cores})
        with pytest.raises(exception.InvalidInput, match='fewer conditions'):
            meeting(session, {CORES: '16'})

# SPDX-License-Identifier: Apache-2.0
"""Requirements give the same result in each database and in Python."""

import contextlib
import json

from hypothesis import given
from hypothesis import HealthCheck
from hypothesis import settings
from hypothesis import strategies as st
import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db import models
from nova_reservations.db.holdings import freed_resources
from nova_reservations.db.resources import hosts
from nova_reservations.db.resources import requirements as sql
from nova_reservations.objects import requirements
from nova_reservations.tests import booking
from nova_reservations.tests import brute_force
from nova_reservations.tests import profile

NUMBER_KEYS = sorted(requirements.NUMBERS - {'id'})
TEXT_KEYS = sorted(requirements.TEXTS)
PROPERTIES = ['gpu', 'GPU', 'rack']
CLASSES = ['CUSTOM_FPGA', 'CUSTOM_GPU']
TRAITS = ['CUSTOM_FAST', 'HW_CPU_X86_VMX']

# Where databases differ: case, accents, trailing spaces, what LIKE and
# quoting treat as special, and numbers that are written in several ways.
TEXTS = (
    '|a|A|a | a|ab|B|ä|a\u0308|ss|ß|%|_|\\|\'|"|:x|4|4.0|04|+4|4 |1e1|10|9|-1'
    '|inf|nan|\U0001f600|\uffff|z\nz'
).split('|')
texts = st.sampled_from(TEXTS)
numbers = st.one_of(
    st.integers(-5, 20),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
).map(str)
orders = ['==', '!=', '<', '<=', '>', '>=']
text_orders = ['<in>', *(f's{name}' for name in orders)]

leaves = st.one_of(
    st.tuples(
        st.sampled_from(orders),
        st.sampled_from(
            [f'${key}' for key in NUMBER_KEYS]
            + [f'$inventory:{name}' for name in CLASSES]
        ),
        numbers,
    ),
    st.tuples(
        st.sampled_from(orders + text_orders),
        st.sampled_from([f'${key}' for key in TEXT_KEYS]),
        texts,
    ),
    st.tuples(
        st.sampled_from(orders + text_orders),
        st.sampled_from([f'${key}' for key in PROPERTIES]),
        texts | numbers,
    ),
    st.tuples(
        st.just('=='),
        st.sampled_from([f'$trait:{t}' for t in TRAITS]),
        st.sampled_from(['required', 'forbidden']),
    ),
    st.dictionaries(
        st.sampled_from(PROPERTIES),
        st.sampled_from(['a', '= 4', '<or> a <or> 4', '<in> a', 's== 4']),
        min_size=1,
    ),
)
trees = st.recursive(
    leaves,
    lambda parts: st.one_of(
        st.tuples(st.sampled_from(['and', 'or']), parts, parts),
        st.tuples(st.just('not'), parts),
    ),
    max_leaves=4,
)

facts = st.builds(
    objects.HostFacts,
    uuid=st.uuids().map(str),
    service_host=texts,
    hypervisor_hostname=texts,
    vcpus=st.integers(0, 12),
    memory_mb=st.integers(0, 12),
    local_gb=st.integers(0, 12),
    free_memory_mb=st.integers(0, 12),
    free_disk_gb=st.integers(0, 12),
    cpu_info=texts,
    hypervisor_type=texts,
    hypervisor_version=st.integers(0, 12),
    availability_zone=texts,
    provider_generation=st.just(0),
    traits=st.frozensets(st.sampled_from(TRAITS)),
    inventories=st.lists(
        st.builds(
            objects.Inventory,
            resource_class=st.sampled_from(CLASSES),
            total=st.integers(5, 20),
            reserved=st.integers(0, 5),
            min_unit=st.just(1),
            max_unit=st.just(20),
            step_size=st.just(1),
            allocation_ratio=st.sampled_from([0.1, 1.0, 1.1, 1.5, 16.0]),
        ),
        unique_by=lambda inventory: inventory.resource_class,
    ).map(tuple),
)
given_hosts = st.lists(
    st.tuples(
        facts, st.dictionaries(st.sampled_from(PROPERTIES), texts | numbers)
    ),
    min_size=1,
    max_size=4,
    unique_by=(
        lambda host: host[0].uuid,
        # MariaDB takes texts that differ by spaces at their end for one.
        lambda host: host[0].service_host.rstrip(' '),
    ),
)


class _Undone(Exception):
    """Rolls back what an example wrote."""


def agrees_with_the_oracle(
    session: orm.Session, enrolled: list[objects.Host], tree: object
) -> None:
    expression = requirements.parse(json.dumps(tree))
    query = sa.select(models.Resource.id).where(
        models.Resource.resource_type == objects.HOST
    )
    found = session.scalars(
        sql.meeting(session, query, objects.HOST, expression)
    )
    wanted = {
        host.id for host in enrolled if brute_force.matches(expression, host)
    }
    assert set(found) == wanted, tree
    # The queue of waiting leases uses this code, to save a query per lease.
    assert wanted == {
        host.id
        for host in enrolled
        if requirements.meets(
            expression, freed_resources.facts_of(host), host.facts.traits
        )
    }, tree


def test_every_database_compares_text_alike(any_database: api.Database):
    with any_database.writer() as session:
        enrolled = [
            hosts.get(
                session,
                booking.enrol(
                    session,
                    f'host-{number}',
                    hypervisor_type=text,
                    properties={'gpu': text},
                ),
            )
            for number, text in enumerate(TEXTS)
        ]
        for text in TEXTS:
            for name in orders + text_orders:
                for key in ('gpu', 'hypervisor_type'):
                    agrees_with_the_oracle(
                        session, enrolled, [name, f'${key}', text]
                    )


@given(given_hosts, st.lists(trees, min_size=1, max_size=4))
@settings(
    max_examples=profile.examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_every_database_finds_the_hosts_that_the_oracle_finds(
    any_database: api.Database, given_now, asked
):
    with contextlib.suppress(_Undone), any_database.writer() as session:
        enrolled = [
            hosts.get(
                session, hosts.insert(session, facts, properties, booking.NOW)
            )
            for facts, properties in given_now
        ]
        for tree in asked:
            agrees_with_the_oracle(session, enrolled, tree)
        raise _Undone

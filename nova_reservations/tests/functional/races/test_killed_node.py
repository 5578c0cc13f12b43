# SPDX-License-Identifier: Apache-2.0
"""A node of Galera is killed while processes write at that node; for
tools/full.
"""

from collections import Counter

import sqlalchemy as sa

from nova_reservations import objects
from nova_reservations.db.upkeep import audit
from nova_reservations.objects import states
from nova_reservations.tests.functional.races import test_nodes as nodes
from nova_reservations.tests.functional.races import test_races as races

pytestmark = nodes.pytestmark

party = races.party
crowd = races.crowd
gate = nodes.gate
onlooker = nodes.onlooker


def test_a_write_begun_at_a_node_that_is_killed_is_whole_or_nothing(
    cluster, party, onlooker, crowd, gate, tmp_path
):
    """The killed node's connections go on at the other node."""
    stop = tmp_path / 'stop'
    workers, lessees = nodes.begin(crowd, gate, stop)
    try:
        nodes.watch(
            party, onlooker, lambda: len(races.journal(party.database)) > 20
        )
        cluster.nodes[1].kill()
        nodes.watch(
            party, onlooker, lambda: all(one.done() for one in lessees)
        )
        nodes.watch(
            party, onlooker, lambda: not races.what_is_held(party.database)
        )
    finally:
        stop.touch()
    for one in workers:
        one.result()
    answers = sum((one.result() for one in lessees), Counter())
    assert answers['create done']
    assert races.used_twice(races.journal(party.database)) == []
    for lease in party.lease_lists.find(objects.LeaseQuery()):
        assert lease.status in {'TERMINATED', 'ERROR'}
        assert lease.reservations
        assert lease.event(states.EventType.START)
        assert lease.event(states.EventType.END)
    with party.database.reader() as session:
        assert audit.held_by_the_dead(session) == []
    cluster.nodes[2].catch_up()
    name = sa.make_url(gate).database
    here, there = (cluster.nodes[number].checksums(name) for number in (0, 2))
    assert here == there
    races.nothing_is_lost(party)

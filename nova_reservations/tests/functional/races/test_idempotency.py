# SPDX-License-Identifier: Apache-2.0
"""Processes that send the same requests at the same time."""

import sqlalchemy as sa

from nova_reservations.db import models
from nova_reservations.tests.functional.races import load
from nova_reservations.tests.functional.races import test_races

party, crowd = test_races.party, test_races.crowd
KEYS = 10


@test_races.EVERYWHERE
def test_keys_make_one_lease_each_and_all_are_told_of_it(party, crowd, gates):
    asking = [
        crowd.submit(load.repeat, next(gates), KEYS)
        for _ in range(test_races.LESSEES)
    ]
    answers = {tuple(each.result()) for each in asking}
    assert len(answers) == 1
    with party.database.reader() as session:
        made = set(session.scalars(sa.select(models.Lease.id)))
    [told] = answers
    assert {*told} == made
    assert len(made) == KEYS

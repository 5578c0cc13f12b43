# SPDX-License-Identifier: Apache-2.0
"""``nova-reservations-manage db purge``."""

import datetime
import json

from nova_reservations.db.record import refused_leases
from nova_reservations.objects import refusal as refusals


def refuse(controller):
    with controller.services().database.writer() as session:
        when = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)
        refused_leases.insert(
            session,
            refusals.Refusal('lessee', when, when, when, 'physical:host', ()),
        )


def test_a_purge_tells_what_it_deletes_and_a_dry_run_what_it_would(controller):
    refuse(controller)
    counts = [
        json.loads(
            controller.manage(
                'db', 'purge', '--before', '2026-01-01', '-f', 'json', *more
            ).out
        )
        for more in (['--dry-run'], [], [])
    ]
    assert [count['refusals'] for count in counts] == [1, 1, 0]
    assert counts[0]['leases'] == 0
    answer = controller.manage('db', 'purge', '--before', '2026-01-01')
    assert 'Deleted idempotency keys: 0' in answer.out


def test_a_day_that_is_not_over_is_not_purged(controller):
    answer = controller.manage('db', 'purge', '--before', '2999-01-01')
    assert answer.exit_code == 1
    assert '--before 2999-01-01: a day in the past is wanted' in answer.err


def test_a_purge_wants_tables(bare_controller):
    answer = bare_controller.manage('db', 'purge', '--before', '2026-01-01')
    assert 'nova-reservations-manage db sync' in str(answer.exit_code)

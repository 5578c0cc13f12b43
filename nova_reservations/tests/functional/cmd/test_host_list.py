# SPDX-License-Identifier: Apache-2.0
import json

import sqlalchemy as sa

from nova_reservations.db import models


def test_a_lost_host_is_listed_with_the_reason(controller):
    controller.manage('host', 'add', 'h1', 'h2')
    why = 'placement has no provider of it: remove it'
    database = controller.services().database
    with database.writer() as session:
        session.execute(
            sa.update(models.Resource)
            .where(models.Resource.name == 'h1')
            .values(lost=why, down_since=database.now())
        )
    listed = controller.manage('host', 'list').out
    assert 'False (lost' in listed
    assert listed.splitlines()[-1] == f'Host h1: {why}'
    answer = controller.manage('host', 'list', '-f', 'json')
    assert [host['status_reason'] for host in json.loads(answer.out)] == [
        why,
        None,
    ]

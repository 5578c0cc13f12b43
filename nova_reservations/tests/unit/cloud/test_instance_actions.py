# SPDX-License-Identifier: Apache-2.0
"""The silence about a server after which its host is asked again."""

import datetime
from unittest import mock

from nova import objects
from oslo_utils import timeutils
import pytest

from nova_reservations import ports
from nova_reservations.cloud.servers import instance_actions

KEY = ports.RequestKey('a reservation', 3)

TIMEOUT = 600


def has_rested(minutes, *asked):
    """Return the answer for a server whose record has not changed for so many
    minutes, and for which Nova was asked so many minutes ago."""
    now = timeutils.utcnow(with_timezone=True)
    instance = mock.Mock(
        uuid='a server', updated_at=now - datetime.timedelta(minutes=minutes)
    )
    others = mock.Mock(
        request_id='req-of-another',
        start_time=now - datetime.timedelta(days=9),
    )
    ours = [
        mock.Mock(
            request_id=instance_actions.request_id('a server', KEY, 'shelve'),
            start_time=now - datetime.timedelta(minutes=ago),
        )
        for ago in asked
    ]
    with mock.patch.object(
        objects, 'InstanceActionList', create=True
    ) as actions:
        actions.get_by_instance_uuid.return_value = [*ours, others]
        return instance_actions.has_rested(
            mock.Mock(), instance, KEY, 'shelve', TIMEOUT
        )


@pytest.mark.parametrize(
    'minutes, asked, answer',
    [
        (9, [9], False),
        (11, [11], True),
        (11, [], True),
        # Half of the time since the first request has to pass.
        (11, [11, 30], False),
        (16, [16, 30], True),
    ],
)
def test_a_host_is_asked_again_more_and_more_seldom(minutes, asked, answer):
    assert has_rested(minutes, *asked) is answer

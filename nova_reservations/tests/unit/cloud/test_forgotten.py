# SPDX-License-Identifier: Apache-2.0
"""Servers that nova-compute has offloaded, or seems to have forgotten."""

import types
from unittest import mock

from nova import objects
from oslo_config import cfg
import pytest

from nova_reservations import ports
from nova_reservations.cloud.servers import forgotten
from nova_reservations.cloud.servers import instance_actions
from nova_reservations.cloud.servers import requests

REQUEST = requests.Request(
    ports.RequestKey('a reservation'), frozenset(), lambda: None
)


class Nova:
    def __init__(self, is_up):
        self.is_up = is_up

    def host_is_up(self, host, now):
        return self.is_up


class Instance(types.SimpleNamespace):
    def save(self, expected_task_state, expected_vm_state=None):
        self.expected = expected_vm_state
        self.saved = True


def shelves(is_up=True):
    conf = cfg.ConfigOpts()
    conf.register_opt(cfg.IntOpt('end_timeout', default=60), 'reservations')
    return forgotten.Shelves(Nova(is_up), conf)


def instance(host='one'):
    return Instance(
        uuid='a server',
        host=host,
        node=host,
        compute_id=1,
        task_state='shelving_offloading',
        saved=False,
    )


@pytest.fixture
def rested(monkeypatch):
    answer = mock.Mock(return_value=True)
    monkeypatch.setattr(instance_actions, 'has_rested', answer)
    return answer


@pytest.mark.parametrize(
    ('long', 'is_up', 'ended'),
    [(True, True, True), (True, False, False), (False, True, False)],
)
def test_a_task_ends_only_after_long_and_on_a_host_that_is_heard(
    rested, long, is_up, ended
):
    rested.return_value = long
    server = instance()
    assert shelves(is_up).end_task(None, server, REQUEST) is ended
    assert (server.task_state is None) is ended


@pytest.mark.parametrize(
    ('long', 'is_up', 'cleared'),
    [(True, True, True), (True, False, False), (False, True, False)],
)
def test_a_host_is_cleared_only_after_long_and_if_it_is_heard(
    rested, long, is_up, cleared
):
    rested.return_value = long
    server = instance()
    assert shelves(is_up).is_off_its_host(None, server, REQUEST) is cleared
    assert (server.host is None) is cleared
    assert server.saved is cleared
    if cleared:
        # It was not unshelved meanwhile.
        assert server.expected == ['shelved_offloaded']


@pytest.mark.parametrize(
    ('action', 'result', 'long', 'is_off'),
    [
        ('shelveOffload', None, False, False),
        ('shelveOffload', None, True, True),
        ('shelveOffload', 'Success', False, True),
        # It may never have an end, if the host was killed.
        ('shelve', None, False, True),
    ],
)
def test_a_server_comes_back_when_its_host_is_done_with_all_requests(
    rested, action, result, long, is_off
):
    rested.return_value = long
    with (
        mock.patch.object(objects, 'InstanceActionList', create=True) as lists,
        mock.patch.object(
            objects, 'InstanceActionEventList', create=True
        ) as events,
    ):
        lists.get_by_instance_uuid.return_value = [mock.Mock(action=action)]
        events.get_by_action.return_value = [mock.Mock(result=result)]
        server = instance(host=None)
        answer = shelves().is_off_its_host(mock.Mock(), server, REQUEST)
    assert answer is is_off

# SPDX-License-Identifier: Apache-2.0
"""Failures of placement have several types, but become one exception."""

from keystoneauth1 import exceptions as ks_exc
from nova.scheduler.client import report
from openstack import exceptions as sdk_exc
import pytest

from nova_reservations import exception
from nova_reservations.cloud import parallel
from nova_reservations.cloud.placement import placement
from nova_reservations.cloud.slots import slot_classes


@pytest.mark.parametrize(
    'error',
    [
        ks_exc.ConnectFailure('no route'),
        # The error of a process that has not reached placement before.
        sdk_exc.NotSupported('no route to a supported version'),
    ],
)
def test_a_client_that_can_not_be_made_is_placement_that_is_down(
    monkeypatch, error
):
    def make():
        raise error

    monkeypatch.setattr(report, 'PLACEMENTCLIENT', None)
    monkeypatch.setattr(report, 'SchedulerReportClient', make)
    with pytest.raises(exception.CloudUnavailable, match='no route'):
        placement.ensure_trait()


@pytest.mark.parametrize(
    ('with_usages', 'asked', 'free'),
    [
        (False, ['inventories', 'traits'], 8),
        (True, ['inventories', 'traits', 'usages'], 5),
    ],
)
def test_usages_are_asked_for_on_demand(monkeypatch, with_usages, asked, free):
    inventory = {
        'total': 8,
        'reserved': 0,
        'min_unit': 1,
        'max_unit': 8,
        'step_size': 1,
        'allocation_ratio': 1.0,
    }
    parts = {
        'inventories': {'VCPU': inventory},
        'traits': ['CUSTOM_X'],
        'usages': {'VCPU': 3},
    }
    urls = []

    def request(method, url, *also):
        urls.append(url)
        part = url.rpartition('/')[2]
        generation = len(urls)
        return Answer(
            {'resource_provider_generation': generation, part: parts[part]}
        )

    monkeypatch.setattr(placement, 'request', request)
    provider = placement.provider('uuid', with_usages)
    assert [url.rpartition('/')[2] for url in urls] == asked
    assert provider.free('VCPU') == free
    # The generation is that of the oldest answer.
    assert provider.generation == 1
    assert provider.traits == {'CUSTOM_X'}


def test_a_worker_stopped_between_reading_and_writing_writes_nothing(
    monkeypatch,
):
    """Another worker ends the lease after the first attempt to write."""
    sent = []
    checks = iter([None, exception.ClaimLost(id='a lease', worker='this')])

    def request(method, url, *also, body=None):
        sent.append(method)
        if 'member_of' in url:
            return Answer({'resource_providers': []})
        answer = Answer({'resource_provider_generation': 1, 'aggregates': []})
        if method == 'put':
            # A conflict: the provider was changed, and has to be read again.
            answer.status_code = 409
        return answer

    def check():
        error = next(checks)
        if error is not None:
            raise error

    monkeypatch.setattr(placement, 'request', request)
    monkeypatch.setattr(parallel, 'MOMENT', 0)
    with pytest.raises(exception.ClaimLost):
        placement.set_members('an aggregate', ['a provider'], check)
    assert sent == ['get', 'get', 'put', 'get']


class Answer:
    status_code = 200

    def __init__(self, body):
        self._body = body

    def json(self):
        return self._body


class Read(Answer):
    def __init__(self, status_code):
        super().__init__(
            {
                'aggregates': ['its'],
                'inventories': {},
                'resource_provider_generation': 1,
            }
        )
        self.status_code = status_code


@pytest.mark.parametrize(
    'change',
    [
        lambda check: placement.leave_aggregate('provider', 'its', check),
        lambda check: slot_classes.ensure_child('host', 'ours', 'one', check),
        lambda check: slot_classes.set_inventory('ours', 'CUSTOM', 1, check),
    ],
    ids=['aggregates', 'child', 'inventory'],
)
def test_nothing_is_written_by_who_has_lost_the_lease_while_reading(
    monkeypatch, change
):
    """The answer may have taken an hour, and the slots be of another host."""
    asked = []

    def request(method, url, *also, body=None):
        asked.append(method)
        return Read(404 if url.endswith('ours') else 200)

    def check():
        if asked:
            raise exception.ClaimLost(id='lease', worker='late')

    monkeypatch.setattr(placement, 'request', request)
    with pytest.raises(exception.ClaimLost):
        change(check)
    assert asked == ['get']

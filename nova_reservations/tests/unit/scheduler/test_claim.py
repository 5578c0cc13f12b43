# SPDX-License-Identifier: Apache-2.0
"""A refusal ends a run of nova-scheduler, unless it is about the host."""

from nova import exception as nova_exception
from nova.objects import request_spec
import pytest

from nova_reservations import exception
from nova_reservations.cloud.placement import claims
from nova_reservations.scheduler import admission
from nova_reservations.scheduler import claim
from nova_reservations.scheduler import request_filter
from nova_reservations.scheduler import requests

ENDED = nova_exception.RequestFilterFailed(reason='The lease has ended')


class Placement:
    """Accepts each claim, and remembers those that stand."""

    def __init__(self):
        self.writes = 0
        self.stand = set()

    def claim(
        self,
        ctx,
        client,
        spec_obj,
        instance_uuid,
        alloc_req,
        allocation_request_version=None,
    ):
        self.writes += 1
        self.stand |= alloc_req['allocations'].keys()
        return True

    def undo(self, server, claimed):
        self.writes += 1
        self.stand -= claimed.keys()


@pytest.fixture
def placement(monkeypatch):
    placement = Placement()
    monkeypatch.setattr(claims, 'undo', placement.undo)
    return placement


@pytest.fixture
def confirm(monkeypatch):
    """Set what is answered to each request that has claimed."""

    def set_answer(error=None, bad_hosts=()):
        class Hosts:
            def confirm(self, request_spec, server):
                if error is not None:
                    raise error
                return admission.Admission('r', frozenset({'h'}))

        monkeypatch.setattr(request_filter, 'installed', Hosts)
        monkeypatch.setattr(requests, 'exists', lambda _: False)
        monkeypatch.setattr(
            claims,
            'refusal',
            lambda claimed, _: 'bad' if {*claimed} & {*bad_hosts} else None,
        )

    return set_answer


def schedule(placement, spec):
    """Claim the first host that can be had, as nova-scheduler does."""
    for host in range(100):
        asked = {'allocations': {f'rp{host}': {'resources': {}}}}
        if claim._claim(
            placement.claim, None, (None, None, spec, 'server', asked), {}
        ):
            return host
    return None


@pytest.mark.parametrize(
    'error', [ENDED, exception.NotEnoughResources(reason='all have failed')]
)
def test_a_refusal_about_the_lease_ends_the_run(placement, confirm, error):
    confirm(error)
    spec = request_spec.RequestSpec(scheduler_hints={})
    assert schedule(placement, spec) is None
    assert (placement.writes, placement.stand) == (2, set())


def test_a_refusal_about_the_host_does_not(placement, confirm):
    confirm(bad_hosts={'rp0', 'rp1'})
    spec = request_spec.RequestSpec(scheduler_hints={})
    assert schedule(placement, spec) == 2
    assert (placement.writes, placement.stand) == (5, {'rp2'})


def test_a_request_that_is_made_again_is_judged_anew(placement, confirm):
    confirm(ENDED)
    spec = request_spec.RequestSpec(scheduler_hints={})
    again = spec.obj_clone()
    assert schedule(placement, spec) is None
    confirm()
    assert schedule(placement, again) == 0

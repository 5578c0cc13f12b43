# SPDX-License-Identifier: Apache-2.0
"""Claims that stand, and the allocations of a server whose claim does not."""

import copy
import json
import types
from urllib import parse

import hypothesis
from hypothesis import strategies as st
from keystoneauth1 import exceptions as ks_exc
from nova import exception as nova_exception
from nova.scheduler.client import report
import pytest

from nova_reservations import objects
from nova_reservations.cloud.placement import claims
from nova_reservations.cloud.placement import placement

SERVER = 'a-server'
MINE = '11111111-0000-4000-8000-000000000001'
OTHERS = '22222222-0000-4000-8000-000000000002'
HOSTS = ('open', 'pooled', 'mine', 'theirs')
TRAITS = {
    'pooled': {placement.POOL_TRAIT},
    'mine': {placement.POOL_TRAIT},
    'theirs': {placement.POOL_TRAIT},
    'disks': {placement.SHARING},
}
MEMBERS = {'mine': {MINE}, 'theirs': {OTHERS}}


class Placement:
    """Four hosts, each with a NUMA cell below it, and disks that they share.

    :ivar held: the allocations of the server: provider -> resources.
    :ivar silent: parts of requests that are not answered.
    """

    def __init__(self):
        self.held = {}
        self.lease_stands = True
        self.silent = frozenset()

    def get(self, url, version):
        return self._answer(f'get {url}', self._get, url)

    def put(self, url, body, version):
        return self._answer(f'put {url}', self._put, body)

    def _answer(self, request, function, *args):
        if any(part in request for part in self.silent):
            raise ks_exc.ConnectFailure('no route')
        found = function(*args)
        return types.SimpleNamespace(status_code=200, json=lambda: found)

    def _get(self, url):
        path, _, query = url.partition('?')
        asked = dict(parse.parse_qsl(query))
        if path.startswith('/allocations'):
            return {'allocations': copy.deepcopy(self.held)}
        if 'in_tree' in asked:
            root = asked['in_tree'].removesuffix(' cell')
            return {
                'resource_providers': [
                    {'uuid': root, 'parent_provider_uuid': None},
                    {'uuid': f'{root} cell', 'parent_provider_uuid': root},
                ]
            }
        if 'member_of' in asked:
            members = [
                {'uuid': host, 'generation': 1}
                for host, aggregates in MEMBERS.items()
                if asked['member_of'] in aggregates
            ]
            return {'resource_providers': members * self.lease_stands}
        provider, kind = path.split('/')[2:]
        if kind == 'traits':
            return {'traits': sorted(TRAITS.get(provider, ()))}
        members = MEMBERS.get(provider, set()) if self.lease_stands else ()
        return {'aggregates': sorted(members)}

    def _put(self, body):
        self.held = json.loads(json.dumps(body['allocations']))

    def claim(self, claimed):
        """Claim as Nova does: earlier allocations stay, and count once."""
        self.held = {**claimed, **self.held}


@pytest.fixture
def cloud(monkeypatch):
    made = Placement()
    monkeypatch.setattr(report, 'report_client_singleton', lambda: made)
    return made


def claim_of(host, nested=False, shared=False, slot=None):
    resource = 'VCPU' if slot is None else objects.slot_class(slot)
    claimed = {
        f'{host} cell' if nested else host: {'resources': {resource: 1}}
    }
    if shared:
        claimed['disks'] = {'resources': {'DISK_GB': 1}}
    return claimed


def may_land(host, hint, slot, stands):
    """Return whether the server may land, by the rule of the decision note."""
    if slot is not None:
        return True
    if host == 'open':
        return True
    return stands and hint == MINE and host == 'mine'


@hypothesis.settings(
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
    deadline=None,
)
@hypothesis.given(
    host=st.sampled_from(HOSTS),
    nested=st.booleans(),
    shared=st.booleans(),
    hint=st.sampled_from([None, MINE]),
    slot=st.sampled_from([None, None, OTHERS]),
    stands=st.booleans(),
    before=st.sampled_from([None, 'old']),
)
def test_a_claim_stands_or_leaves_nothing(
    cloud, host, nested, shared, hint, slot, stands, before
):
    cloud.lease_stands = stands
    claimed = claim_of(host, nested, shared, slot)
    # A server that is evacuated also holds its old host and the shared disks.
    cloud.held = {} if before is None else claim_of(before, shared=shared)
    held = copy.deepcopy(cloud.held)
    cloud.claim(claimed)
    together = copy.deepcopy(cloud.held)

    stood = claims.stands(
        SERVER, claimed, lambda: claims.refusal(claimed, hint)
    )

    assert stood == may_land(host, hint, slot, stands)
    assert cloud.held == (together if stood else held)


def test_a_claim_that_can_not_be_judged_is_undone(cloud):
    claimed = claim_of('open')
    cloud.claim(claimed)
    cloud.silent = {'/traits'}
    assert not claims.stands(
        SERVER, claimed, lambda: claims.refusal(claimed, None)
    )
    assert cloud.held == {}


def test_nothing_is_built_on_a_claim_that_can_not_be_undone(cloud):
    claimed = claim_of('pooled')
    cloud.claim(claimed)
    cloud.silent = {'put /allocations'}
    with pytest.raises(nova_exception.AllocationUpdateFailed):
        claims.stands(SERVER, claimed, lambda: claims.refusal(claimed, None))


def test_whatever_is_raised_undoes_the_claim(cloud):
    claimed = claim_of('open')
    cloud.claim(claimed)

    def fail():
        raise RuntimeError('what nobody thought of')

    with pytest.raises(RuntimeError):
        claims.stands(SERVER, claimed, fail)
    assert cloud.held == {}

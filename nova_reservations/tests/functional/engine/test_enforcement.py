# SPDX-License-Identifier: Apache-2.0
"""Plugins that must allow a lease, and a plugin that asks a service."""

from http import server
import json
import threading

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.engine.leases import enforcement
from nova_reservations.objects import states
from nova_reservations.plugins.enforcement import base
from nova_reservations.plugins.enforcement import external_service
from nova_reservations.testing import options
from nova_reservations.testing import stacks
from nova_reservations.tests.examples import scarce
from nova_reservations.tests.functional.engine import stack_leases
from nova_reservations.tests.functional.engine import test_limits


class Service(server.BaseHTTPRequestHandler):
    """Records the requests, and answers what the test wants, when the test
    wants."""

    told: list
    answers: threading.Event
    status = 204
    said = ''

    def do_POST(self):
        size = int(self.headers['Content-Length'])
        body = json.loads(self.rfile.read(size))
        self.told.append((self.path, self.headers['X-Auth-Token'], body))
        self.answers.wait(30)
        self.send_response(self.status)
        self.end_headers()
        if self.status != 204:
            self.wfile.write(self.said.encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def service():
    answers = threading.Event()
    answers.set()
    handler = type('Handler', (Service,), {'told': [], 'answers': answers})
    with server.HTTPServer(('127.0.0.1', 0), handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, args=(0.01,))
        thread.start()
        handler.url = f'http://127.0.0.1:{httpd.server_port}/usage/v1'
        yield handler
        httpd.shutdown()
        thread.join()


def external(url, **more):
    conf = options.defaults()
    for name, value in {
        'base_endpoint': url,
        'token': 'secret',
        'auth_url': 'http://keystone',
        **more,
    }.items():
        conf.set_override(f'external_service_{name}', value, 'reservations')
    return external_service.ExternalService(conf)


def enforce(region, plugin):
    region.leases.enforcement.plugins = [plugin]
    region.server_leases.leases.notify = region.leases.enforcement.with_ends(
        region.leases.notify, lambda call: call()
    )


@pytest.fixture
def governed(region, service):
    enforce(region, external(service.url))
    return region


def test_a_service_is_asked_with_the_hosts_that_a_lease_would_get(
    governed, service
):
    lease = governed.lease(start=60, end=120, minimum=2)
    [(path, token, body)] = service.told
    assert (path, token) == ('/usage/v1/check-create', 'secret')
    assert body['context'] == {
        'user_id': 'user',
        'project_id': 'lessee',
        'auth_url': 'http://keystone',
        'region_name': 'RegionOne',
    }
    [reservation] = body['lease'].pop('reservations')
    assert body['lease'] == {
        'id': lease.id,
        'name': 'a lease',
        'start_date': '2030-01-01T13:00:00',
        'end_date': '2030-01-01T14:00:00',
        'before_end_date': '2030-01-01T13:00:00',
        'user_id': 'user',
        'project_id': 'lessee',
        'status': 'CREATING',
    }
    assert reservation['resource_type'] == objects.HOST
    assert (reservation['min'], reservation['max']) == (2, 2)
    named = {each['service_name'] for each in reservation['allocations']}
    assert named == governed.hosts_of(lease)


def test_nobody_is_told_what_the_template_of_a_stack_says(
    make_region, service
):
    region = stack_leases.region_of(make_region)
    enforce(region, external(service.url))
    one = stacks.server(user_data='private')
    lease = stack_leases.active(region, {'one': one})
    assert service.told
    told = json.dumps([service.told, region.notes])
    assert lease.reservations[0].id in told
    assert 'private' not in told
    assert 'id-small' in told


def test_a_lease_that_the_service_denies_is_refused_in_its_words(
    governed, service
):
    service.status, service.said = 403, '{"message": "No credits left"}'
    with pytest.raises(exception.OverLimit, match=r'^No credits left$'):
        governed.lease()
    assert test_limits.leases_of(governed) == 0


@pytest.mark.parametrize(
    'status, said', [(403, 'no JSON'), (403, '{"message": 1}'), (418, '')]
)
def test_other_answers_deny_as_well(governed, service, status, said):
    service.status, service.said = status, said
    with pytest.raises(exception.OverLimit, match='denied the request'):
        governed.lease()


def test_a_service_that_does_not_answer_lets_nobody_in(governed, service):
    service.status = 502
    with pytest.raises(exception.CloudUnavailable) as refusal:
        governed.lease()
    assert '127.0.0.1' not in refusal.value.public


def test_a_service_that_hangs_is_waited_for_so_long_and_no_longer(
    region, service
):
    enforce(region, external(service.url, timeout=0.2))
    service.answers.clear()
    with pytest.raises(exception.CloudUnavailable):
        region.lease()
    service.answers.set()
    assert test_limits.leases_of(region) == 0


def test_a_service_that_does_not_answer_may_let_everybody_in(region):
    enforce(
        region,
        external('http://127.0.0.1:9', fail_open=True, timeout=0.2),
    )
    region.lease()


def test_the_service_is_asked_with_what_is_and_what_would_be(
    governed, service
):
    lease = governed.lease(start=60, end=120)
    governed.change(lease, end=180, min=2, max=2)
    path, _, body = service.told[-1]
    assert path == '/usage/v1/check-update'
    assert body['current_lease']['id'] == body['lease']['id'] == lease.id
    assert body['current_lease']['end_date'] == '2030-01-01T14:00:00'
    assert body['lease']['end_date'] == '2030-01-01T15:00:00'
    before, after = (
        [
            each['service_name']
            for each in body[which]['reservations'][0]['allocations']
        ]
        for which in ('current_lease', 'lease')
    )
    assert (len(before), len(after)) == (1, 2)
    assert set(after) == governed.hosts_of(lease)


def test_the_service_is_not_asked_of_names_and_dry_runs(governed, service):
    lease = governed.lease()
    governed.change(lease, name='renamed')
    governed.leases.create(
        test_limits.new_lease(governed), governed.now, dry_run=True
    )
    assert len(service.told) == 1


def test_the_service_is_told_once_that_a_lease_is_deleted(governed, service):
    lease = governed.lease(start=60, end=120)
    governed.delete(lease)
    path, _, body = service.told[-1]
    assert (path, len(service.told)) == ('/usage/v1/on-end', 2)
    assert body['lease']['id'] == lease.id


def test_ends_that_notifications_tell_are_told(region):
    ended = []

    class Listener(base.Enforcement):
        def on_end(self, lease, hosts):
            ended.append((lease['lease_id'], hosts))

    told = enforcement.Enforcement(
        region.database,
        [Listener(region.opts)],
        region.types,
        region.options,
    ).with_ends(lambda *_: None, lambda call: call())
    lease = region.active_lease(end=10)
    region.forward(until=20)
    for event_type, payload in region.notes:
        told(event_type, payload)
    [(lease_id, hosts)] = ended
    assert lease_id == lease.id
    [[host]] = hosts.values()
    assert host.facts.service_host in {'one', 'two', 'three'}
    assert region.status(lease) == states.Lease.TERMINATED


def test_a_plugin_that_breaks_does_not_hold_up_an_end(region):
    class Broken(base.Enforcement):
        def on_end(self, lease, hosts):
            raise RuntimeError

    enforce(region, Broken(region.opts))
    region.delete(region.lease(start=60, end=120))
    assert test_limits.leases_of(region) == 0


def test_the_example_knows_the_hosts_that_a_lease_would_get(region):
    region.add_host('four', enrol=False)
    region.enrol('four', gpu='A100')
    enforce(region, scarce.Scarce(region.opts))
    gpu = {'resource_properties': '["==", "$gpu", "A100"]'}
    with pytest.raises(
        exception.OverLimit,
        match='Over the limit: hosts with a gpu are leased for 24 hours',
    ):
        region.lease(end=25 * 60, **gpu)
    lease = region.lease(end=24 * 60, **gpu)
    with pytest.raises(exception.OverLimit):
        region.change(lease, end=25 * 60)
    region.lease(end=25 * 60)


def test_a_service_without_an_address_is_a_mistake():
    with pytest.raises(ValueError, match='base_endpoint is not set'):
        external(None)


def test_many_reservations_can_not_ask_for_much_each(region):
    item = (objects.HOST, {'min': 1, 'max': 200})
    with pytest.raises(
        exception.InvalidInput,
        match='A lease with 64 reservations can ask for 156 hosts and slots '
        'in all, and this one asks for 12800',
    ):
        region.lease_of(*[item] * 64)

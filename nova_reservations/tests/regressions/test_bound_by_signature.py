# SPDX-License-Identifier: Apache-2.0
"""Some wrappers of Nova's methods took arguments by position, or by name, only
as Nova passes them today. Issue 13, item 14.
"""

import inspect
import types

from nova.compute import api as compute_api
from nova.compute import resource_tracker
from nova.objects import instance as instance_objects
from nova.scheduler import host_manager
from nova.scheduler import manager
import oslo_messaging
import pytest

from nova_reservations.api.servers import create
from nova_reservations.compute import service_hooks
from nova_reservations.compute import tracker as tracking
from nova_reservations.compute import wrapping
from nova_reservations.compute.metrics import service
from nova_reservations.scheduler import open_reservations
from nova_reservations.scheduler.consumers import host_states

SERVER = '5f3c2b1a-0000-4000-8000-00000000000a'
NODE = {'hypervisor_hostname': 'node'}


class Method:
    """Stands in for a bound method of Nova: it takes the same arguments.

    :ivar act: called with all of them, by name.
    """

    def __init__(self, real, act):
        found = inspect.signature(real)
        self.__signature__ = found.replace(
            parameters=[
                each
                for each in found.parameters.values()
                if each.name != 'self'
            ]
        )
        self.act = act

    def __call__(self, *args, **kwargs):
        bound = self.__signature__.bind(*args, **kwargs)
        bound.apply_defaults()
        return self.act(**bound.arguments)


def do_nothing(**arguments):
    """Return None: few wrappers use the result."""


@pytest.fixture(params=['by position', 'by name'])
def call(request):
    """Return a function that calls a wrapper as wrapt does. The arguments are
    given in the order of the method's own."""

    def made(wrapper, method, instance=None, /, **arguments):
        if request.param == 'by name':
            return wrapper(method, instance, (), arguments)
        return wrapper(method, instance, tuple(arguments.values()), {})

    return made


@pytest.mark.parametrize('beside', [wrapping.before, wrapping.after])
def test_a_call_beside_a_method_knows_its_arguments(call, beside):
    def method(one, two, three=3):
        """Stand in for a method of Nova."""

    seen = []
    wrapper = beside(
        lambda instance: instance,
        lambda kept, instance, arguments: seen.append({**arguments}),
    )
    call(wrapper, method, 'kept', one=1, two=2)
    assert seen == [{'one': 1, 'two': 2, 'three': 3}]


def test_ledgers_have_what_hypervisors_report(call):
    kept = tracking.TrackerPlugins(())
    call(
        wrapping.before(lambda _: kept, tracking._report),
        Method(
            resource_tracker.ResourceTracker._init_compute_node, do_nothing
        ),
        context=None,
        resources=NODE,
    )
    assert kept._reported == {'node': NODE}


def test_listeners_are_told_of_audits(call):
    class Tracker:
        """The part of Nova's resource tracker that audits use."""

    tracker, told = Tracker(), []
    tracker.compute_nodes = {
        'node': types.SimpleNamespace(
            **NODE, **dict.fromkeys(service_hooks.CLAIMED, 1)
        )
    }
    service_hooks.listen(tracker, lambda *what: told.append(what))
    call(
        service_hooks._update_available_resource,
        Method(
            resource_tracker.ResourceTracker._update_available_resource,
            do_nothing,
        ),
        tracker,
        context=None,
        resources=NODE,
        startup=True,
    )
    assert told == [('node', NODE, dict.fromkeys(service_hooks.CLAIMED, 1))]


def test_metadata_are_read_with_servers(call, monkeypatch):
    collector = types.SimpleNamespace(host='host', wants_metadata=True)
    monkeypatch.setattr(service, '_COLLECTORS', {None: collector})
    read = call(
        service._get_by_host_and_node,
        Method(
            instance_objects.InstanceList.get_by_host_and_node,
            lambda **arguments: arguments,
        ),
        context=None,
        host='host',
        node='node',
        expected_attrs=['flavor'],
    )
    assert read['expected_attrs'] == ['flavor', 'metadata']
    assert (read['host'], read['node']) == ('host', 'node')


def test_consumers_consume(call, monkeypatch):
    seen = []

    class Consumers:
        def consume(self, host_state, request_spec):
            seen.append((host_state, request_spec))

        def survey(self, found, request_spec, summaries):
            seen.append((found, request_spec, summaries))

    monkeypatch.setattr(host_states, '_consumers', Consumers())
    call(
        host_states._consume,
        Method(
            host_manager.HostState._locked_consume_from_request, do_nothing
        ),
        'host',
        spec_obj='request',
    )
    call(
        host_states._survey,
        Method(
            manager.SchedulerManager._get_all_host_states,
            lambda **arguments: ['host'],
        ),
        context=None,
        spec_obj='request',
        provider_summaries={},
    )
    assert seen == [('host', 'request'), (['host'], 'request', {})]


def test_servers_are_recorded_before_nova_makes_them(call):
    recorded = []
    token = create._record.set(recorded.append)
    try:
        call(
            create._before,
            Method(
                compute_api.API._create_reqspec_buildreq_instmapping,
                do_nothing,
            ),
            context=None,
            rs=types.SimpleNamespace(instance_uuid=SERVER),
            br=None,
            im=None,
        )
    finally:
        create._record.reset(token)
    assert recorded == [SERVER]


def _real_select_destinations():
    """Return Nova's method without the wrappers of oslo.messaging and of
    ours."""
    found = inspect.unwrap(manager.SchedulerManager.select_destinations)
    [real] = [
        cell.cell_contents
        for cell in found.__closure__
        if inspect.isfunction(cell.cell_contents)
    ]
    return real


def _as_of_messaging(real, act):
    """Return a callable that has no signature of its own."""
    method = Method(real, act)
    return lambda *args, **kwargs: method(*args, **kwargs)


def test_a_request_sent_to_an_open_reservation_is_scheduled_once_more(call):
    asked = []

    def select_destinations(**arguments):
        asked.append(arguments['spec_obj'])
        run = open_reservations.run()
        if run is not None:
            run.sent = open_reservations.Sent(
                'a reservation', 'as it was', is_whole=False, others=False
            )
            raise oslo_messaging.ExpectedException()
        return 'a host'

    found = call(
        open_reservations._select,
        _as_of_messaging(_real_select_destinations(), select_destinations),
        context=None,
        request_spec=None,
        filter_properties=None,
        spec_obj='sent',
        instance_uuids=[SERVER],
        return_objects=True,
        return_alternates=True,
    )
    assert found == 'a host'
    assert asked == ['sent', 'as it was']


def test_the_signature_is_novas():
    ours = inspect.signature(open_reservations._select_destinations)
    real = inspect.signature(_real_select_destinations())
    assert ['self', *ours.parameters] == [*real.parameters]

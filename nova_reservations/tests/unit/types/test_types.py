# SPDX-License-Identifier: Apache-2.0
import dataclasses

import jsonschema
from oslo_config import cfg
import pytest

from nova_reservations import conf
from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.objects import states
from nova_reservations.testing import fake_cloud
from nova_reservations.tests.unit.engine import test_steps
from nova_reservations.types import base
from nova_reservations.types.servers import host

RESERVATION = objects.Reservation(
    id='reservation',
    lease_id='lease',
    resource_type=objects.HOST,
    status=states.Reservation.ACTIVE,
    params={},
    missing_resources=False,
    resources_changed=False,
    created_at=test_steps.NOON,
    updated_at=None,
)


@pytest.fixture
def cloud():
    return fake_cloud.FakeCloud('one', 'two')


@pytest.fixture
def plugin(cloud):
    opts = cfg.ConfigOpts()
    conf.register_opts(opts)
    opts([])
    return host.PhysicalHost(cloud, opts)


@pytest.fixture
def booking(cloud):
    (one,), (two,) = (
        cloud.hosts.find_hosts('one'),
        cloud.hosts.find_hosts('two'),
    )
    return base.Booking(
        lease=test_steps.lease('ACTIVE'),
        reservation=RESERVATION,
        resources=(one, two),
        slots={},
        servers=frozenset(),
        now=test_steps.NOON,
        prepared=False,
        settled=True,
        check=lambda: None,
    )


class TestRequests:
    @pytest.mark.parametrize(
        'asked',
        [
            {'min': 1, 'max': 2},
            {'min': '1', 'max': '2'},
            {'min': 1, 'max': 1, 'before_end': None},
            {'min': 1, 'max': 1, 'before_end': 'snapshot'},
            {'min': 1, 'max': 1, 'resource_properties': ''},
            {'min': 1, 'max': 1, 'hypervisor_properties': ['=', '$id', '1']},
        ],
    )
    def test_requests_of_blazars_clients_are_taken(self, plugin, asked):
        jsonschema.validate(asked, plugin.schema)
        plugin.validate(asked)

    @pytest.mark.parametrize(
        'asked',
        [
            {'min': 1},
            {'min': 0, 'max': 1},
            {'min': '0', 'max': 1},
            {'min': -1, 'max': 1},
            {'min': 1.5, 'max': 2},
            {'min': True, 'max': True},
            {'min': None, 'max': 1},
            {'min': 1, 'max': 10_001},
            {'min': 1, 'max': 1, 'before_end': 5},
            {'min': 1, 'max': 1, 'count': 3},
        ],
    )
    def test_requests_that_are_not_well_formed_are_refused(
        self, plugin, asked
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(asked, plugin.schema)

    def test_at_update_nothing_is_required(self, plugin):
        jsonschema.validate({}, plugin.update_schema)
        jsonschema.validate({'max': 3}, plugin.update_schema)

    @pytest.mark.parametrize(('low', 'high'), [(2, 1), (1, '10001'), (0, 1)])
    def test_a_range_that_is_none_is_refused(self, plugin, low, high):
        with pytest.raises(
            exception.InvalidInput, match='Invalid values for min/max'
        ):
            plugin.validate({'min': low, 'max': high})

    @pytest.mark.parametrize('text', ['[', '["~", "$a", "b"]', '["==", "a"]'])
    def test_requirements_that_say_nothing_are_refused(self, plugin, text):
        with pytest.raises(exception.InvalidInput):
            plugin.validate({'min': 1, 'max': 1, 'resource_properties': text})

    def test_params_are_stable(self, plugin):
        params = plugin.validate({'min': '1', 'max': 2})
        assert (
            plugin.validate(params)
            == params
            == {
                'min': 1,
                'max': 2,
                'hypervisor_properties': '',
                'resource_properties': '',
                'consume': 'targeted',
                'before_end': 'default',
                'end_action': 'delete',
                'end_grace': 0,
            }
        )

    def test_the_demand_is_what_was_asked(self, plugin):
        wanted = plugin.demand(plugin.validate({'min': '1', 'max': 2}))
        assert (wanted.resource_type, wanted.minimum, wanted.maximum) == (
            objects.HOST,
            1,
            2,
        )
        assert wanted.requirements is None


class TestHosts:
    def test_a_start_gathers_the_hosts(self, plugin, cloud, booking):
        plugin.start(booking)
        assert cloud.aggregate_hosts == {'reservation': {'one', 'two'}}

    def test_a_start_that_was_prepared_writes_nothing(
        self, plugin, cloud, booking
    ):
        plugin.prepare(booking)
        before = list(cloud.writes)
        plugin.start(dataclasses.replace(booking, prepared=True))
        assert cloud.writes == before

    def test_an_end_that_nobody_is_in_the_way_of_is_over(
        self, plugin, cloud, booking
    ):
        plugin.start(booking)
        assert plugin.end(booking) is None
        assert cloud.aggregate_hosts == {}

    def test_an_empty_host_is_free_once_nobody_can_be_on_the_way(
        self, plugin, cloud, booking
    ):
        plugin.start(booking)
        early = dataclasses.replace(booking, settled=False)
        assert plugin.end(early) == base.Waiting(
            'Waiting for servers that are on their way'
        )
        # The aggregate is gone, so no server is let in, but the end waits.
        assert not cloud.aggregate_hosts
        assert plugin.end(booking) is None

    def test_an_end_says_what_it_waits_for(self, plugin, cloud, booking):
        plugin.start(booking)
        slow = cloud.boot('one', 'p')
        cloud.slow_servers.add(slow)
        theirs = cloud.boot('two', 'q')
        cloud.leftovers['two'].add('consumer')
        assert plugin.end(booking) == base.Waiting(
            f'server {slow} (active) on host one is being deleted; '
            'a server that is not of this reservation is on host two: an '
            'administrator has to move it; placement holds an allocation of '
            'somebody else on host two: an administrator has to look at it',
            count=3,
            detail=f'server {slow} (active) on host one is being deleted; '
            f'server {theirs} of project q is on host two: move or delete '
            'it; placement holds an allocation of consumer on host two',
        )
        assert cloud.aggregate_hosts == {'reservation': {'one', 'two'}}

    def test_an_end_says_why_a_server_can_not_be_deleted(
        self, plugin, cloud, booking
    ):
        plugin.start(booking)
        locked = cloud.boot('one', 'p')
        cloud.servers.delete_servers = lambda servers, check, now: {
            locked: objects.Reason.plain('it is locked')
        }
        assert plugin.end(booking) == base.Waiting(
            f'server {locked} (active) on host one can not be deleted: '
            'it is locked'
        )

    def test_a_reason_has_an_end(self, plugin, cloud, booking):
        for project in 100 * ['p', 'q']:
            cloud.boot('one', project)
        waiting = plugin.end(booking)
        assert waiting.reason.count('server ') == 20
        assert waiting.detail.count('server ') == 20
        assert waiting.count == 200

    @pytest.mark.parametrize(
        'status', [states.Reservation.PENDING, states.Reservation.ERROR]
    )
    def test_hosts_that_nobody_could_use_are_given_back_at_once(
        self, plugin, cloud, booking, status
    ):
        """The servers on its hosts belong to the lease before."""
        plugin.prepare(booking)
        server = cloud.boot('one', 'p')
        reservation = dataclasses.replace(RESERVATION, status=status)
        unused = dataclasses.replace(booking, reservation=reservation)
        assert plugin.end(unused) is None
        assert cloud.aggregate_hosts == {}
        assert server in cloud.instances

    def test_nothing_is_written_by_a_worker_that_lost_the_lease(
        self, plugin, cloud, booking
    ):
        def lost():
            raise exception.ClaimLost(id='lease', worker='w')

        plugin.start(booking)
        server = cloud.boot('one', 'p')
        late = dataclasses.replace(booking, check=lost)
        before = list(cloud.writes)
        for act in (plugin.prepare, plugin.start, plugin.end):
            with pytest.raises(exception.ClaimLost):
                act(late)
        assert cloud.writes == before
        assert server in cloud.instances


def test_a_type_needs_to_do_nothing_ahead_of_its_time(booking):
    class Plain(base.ResourceType):
        def validate(self, asked):
            return dict(asked)

        def demand(self, params):
            raise NotImplementedError

        def start(self, booking):
            started.append(booking)

        def end(self, booking):
            return None

    started = []
    plain = Plain(fake_cloud.FakeCloud(), cfg.ConfigOpts())
    plain.prepare(booking)
    plain.before_end(booking)
    assert started == []
    plain.update(booking)
    plain.heal(booking)
    assert started == [booking, booking]
    assert plain.show(RESERVATION) == {}


def test_an_occupancy_is_empty_if_nothing_is_there():
    assert ports.Occupancy().empty
    assert not ports.Occupancy(leftovers=('x',)).empty

# SPDX-License-Identifier: Apache-2.0
"""``before_end`` was refused for slots. For a server's own lease the action of
``default_before_end`` was not done, although its event became DONE. Issue 13,
item 16.
"""

import smtplib
import types

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.api.servers import lease_params
from nova_reservations.api.views import leases as views
from nova_reservations.db import models
from nova_reservations.engine.booking import lease_requests
from nova_reservations.testing import region as regions
from nova_reservations.tests.functional.engine import test_before_end
from nova_reservations.tests.functional.engine import test_instances
from nova_reservations.tests.functional.engine import test_shelving
from nova_reservations.types.servers import flavor
from nova_reservations.types.servers import instance
from nova_reservations.types.servers import server as server_plugin

FLAVOR = 'flavor:instance'
TYPES = {
    test_instances.VIRTUAL: instance.VirtualInstance,
    FLAVOR: flavor.FlavorInstance,
    objects.SERVER: server_plugin.Server,
}

orders = test_before_end.orders
warning = test_before_end.warning


@pytest.fixture
def region(make_region):
    return with_flavor(make_region('one', types=TYPES))


def with_flavor(made):
    made.cloud.known_flavors['m1'] = ports.KnownFlavor(
        'm1',
        'm1.small',
        True,
        ports.Flavor(1, 512, 1),
        {'VCPU': 1, 'MEMORY_MB': 512, 'DISK_GB': 1},
        frozenset(),
        frozenset(),
    )
    return made


def of_slots(kind):
    def ask(region, **asked):
        """Return a lease of slots, and a server in one of them."""
        item = {'amount': 2, 'affinity': None, **asked}
        if kind == FLAVOR:
            item |= {'flavor_id': 'm1'}
        else:
            item |= test_instances.slots()[1] | item
        lease = region.lease_of((kind, item), end=120)
        region.work()
        return lease, test_instances.boot(region, lease)

    return ask


def of_its_own(region, **asked):
    """Return the lease of a server, and the server."""
    lease, (server,) = test_shelving.asked_for(region, end=120, **asked)
    region.work()
    return lease, server


each_type = pytest.mark.parametrize(
    'ask',
    [of_slots(test_instances.VIRTUAL), of_slots(FLAVOR), of_its_own],
    ids=['virtual', 'flavor', 'server'],
)


@each_type
class TestEachType:
    def test_a_snapshot_is_made_if_it_was_asked_for(self, region, ask):
        lease, server = ask(region, before_end='snapshot')
        region.cloud.boot('one', lease.project_id, 'another')
        region.forward(until=59)
        assert orders(region) == []
        region.forward(until=61)
        assert orders(region) == [server]
        assert warning(region, lease) == 'DONE'
        assert region.status(lease) == 'ACTIVE'

    def test_a_snapshot_that_takes_its_time_is_waited_for(self, region, ask):
        lease, server = ask(region, before_end='snapshot')
        region.cloud.slow_servers.add(server)
        region.forward(until=61)
        assert warning(region, lease) == 'IN_PROGRESS'
        assert server in region.see(lease).status_reason
        region.cloud.slow_servers.clear()
        region.forward(until=62)
        assert warning(region, lease) == 'DONE'

    def test_a_snapshot_that_fails_is_told_of(self, region, ask):
        lease, server = ask(region, before_end='snapshot')
        region.cloud.broken.add(server)
        region.forward(until=61)
        assert warning(region, lease) == 'ERROR'
        assert 'Nova has failed at it' in region.see(lease).status_reason
        assert region.status(lease) == 'ACTIVE'

    def test_the_action_may_change_while_the_lease_is_active(
        self, region, ask
    ):
        lease, server = ask(region)
        [reservation] = lease.reservations
        region.leases.update(
            lease.id,
            lease_requests.LeaseChanges(
                reservations={reservation.id: {'before_end': 'snapshot'}}
            ),
            region.now,
        )
        region.forward(until=61)
        assert orders(region) == [server]

    def test_the_chosen_action_is_shown(self, region, ask):
        lease, _ = ask(region, before_end='snapshot')
        [reservation] = region.see(lease).reservations
        kind = region.types[reservation.resource_type]
        assert kind.show(reservation)['before_end'] == 'snapshot'

    def test_an_action_that_is_not_offered_is_refused_with_those_that_are(
        self, region, ask
    ):
        with pytest.raises(exception.InvalidInput, match='one of: default'):
            ask(region, before_end='email')


@each_type
class TestWhatTheOperatorHasChosen:
    """The operator has chosen an action for leases that ask for none."""

    @pytest.fixture
    def region(self, make_region):
        overrides = {
            'default_before_end': 'email',
            'email_server': 'mail',
            'email_from': 'leases@example.org',
            'email_to': '{user_id}@example.org',
        }
        return with_flavor(
            make_region('one', types=TYPES, overrides=overrides)
        )

    @pytest.fixture
    def sent(self, monkeypatch):
        mails = []

        class Post(smtplib.SMTP):
            def __init__(self, *args, **kwargs):
                pass

            def __enter__(self):
                return self

            def __exit__(self, *args):
                pass

            def starttls(self, **kwargs):
                pass

            def send_message(self, mail):
                mails.append(mail)

        monkeypatch.setattr(smtplib, 'SMTP', Post)
        return mails

    def test_a_mail_is_sent(self, region, ask, sent):
        lease, _ = ask(region)
        region.forward(until=61)
        [mail] = sent
        assert mail['To'] == 'user@example.org'
        assert 'There are 1 of' in mail.get_content()
        assert 'handled so: delete.' in mail.get_content()
        assert warning(region, lease) == 'DONE'

    def test_the_choice_is_for_leases_that_are_older_than_it_too(
        self, region, ask, sent
    ):
        ask(region)
        with region.database.writer() as session:
            [row] = session.query(models.Reservation).all()
            row.params = {
                key: value
                for key, value in row.params.items()
                if key != 'before_end'
            }
        region.forward(until=61)
        assert len(sent) == 1

    def test_a_mail_that_can_not_be_sent_is_told_of(
        self, region, ask, monkeypatch
    ):
        monkeypatch.setattr(smtplib, 'SMTP', _refuse)
        lease, _ = ask(region)
        region.forward(until=121)
        assert warning(region, lease) == 'ERROR'
        shown = views.show(region.see(lease), lambda _: {}, in_full=False)
        assert 'could not be sent' in shown['status_reason']

    def test_whoever_wants_no_more_than_a_notification_says_so(
        self, region, ask, sent
    ):
        lease, _ = ask(region, before_end='notify')
        region.forward(until=61)
        assert sent == []
        assert warning(region, lease) == 'DONE'


def _refuse(*args, **kwargs):
    raise OSError('refused')


def test_servers_of_others_that_take_slots_have_none(region):
    lease, server = of_slots(test_instances.VIRTUAL)(
        region, before_end='snapshot'
    )
    stranger = region.cloud.boot('one', 'somebody')
    region.cloud.reservation_of[stranger] = test_instances.id_of(lease)
    region.forward(until=61)
    assert orders(region) == [server]


def test_the_hint_of_a_server_may_say_it():
    asked = lease_params.asked(
        {
            'os:scheduler_hints': {
                'lease_params': '{"name": "demo", "start": "now", "end": '
                '"2030-01-01 14:00", "before_end": "snapshot"}'
            }
        },
        regions.NOON,
        types.SimpleNamespace(project_id='ours', user_id='user'),
    )
    [reservation] = asked.reservations
    assert reservation.asked == {'before_end': 'snapshot'}

# SPDX-License-Identifier: Apache-2.0
"""Members were sent to ``os-hosts/properties``, which answered them with 403.
An error did not say that a hint named a lease instead of a reservation.
Alerts, and notifications of leases, were lost where Nova's notifications are
versioned.

Issue 13, item 17.
"""

from nova import rpc
import nova.conf
from oslo_config import fixture
import pytest

from nova_reservations import exception
from nova_reservations.cloud import notifier
from nova_reservations.compute.metrics import notifications
from nova_reservations.policies import base
from nova_reservations.policies import hosts


def test_project_readers_may_list_the_public_properties():
    rules = {rule.name: rule.check_str for rule in hosts.RULES}
    assert rules[hosts.PROPERTIES] == base.PROJECT_READER_OR_ADMIN
    assert rules[hosts.PRIVATE_PROPERTIES] == base.ADMIN


def test_a_hint_with_the_id_of_a_lease_is_understood(region):
    lease = region.active_lease(project='ours')
    [reservation] = lease.reservations
    find = region.services.named_leases.reservation
    assert find(lease.id, 'ours', None) == reservation.id
    with pytest.raises(exception.NotFound) as refusal:
        find(lease.id, 'theirs', None)
    assert reservation.id not in str(refusal.value)


class Notifier:
    def __init__(self):
        self.told = []

    def prepare(self, publisher_id):
        return self

    def warn(self, context, event_type, payload):
        self.told.append(event_type)

    info = warn


@pytest.fixture(
    params=[('unversioned', 1, 0), ('both', 1, 0), ('versioned', 0, 1)],
    ids=lambda param: param[0],
)
def nova_notifies(request, monkeypatch):
    """Have Nova notify in a format. At the end, check how many notifications
    each of its notifiers got."""
    wanted, *expected = request.param
    both = Notifier(), Notifier()
    monkeypatch.setattr(rpc, 'LEGACY_NOTIFIER', both[0])
    monkeypatch.setattr(rpc, 'NOTIFIER', both[1])
    with fixture.Config(nova.conf.CONF) as options:
        options.config(group='notifications', notification_format=wanted)
        yield
    assert [len(one.told) for one in both] == expected


@pytest.mark.usefixtures('nova_notifies')
def test_an_alert_goes_where_nova_notifies():
    notifications.notify('host', 'server.metric.exceeded', {})


@pytest.mark.usefixtures('nova_notifies')
def test_a_notification_of_a_lease_goes_where_nova_notifies():
    notifier.notify('lease.create', {})
    notifier.OUTBOX.flush(10)

# SPDX-License-Identifier: Apache-2.0
"""Programs built on openstacksdk: a line of clouds.yaml puts leases in.

Ansible's modules read the same file.
"""

from typing import Any

from openstack import connection
from openstack import resource
from openstack.config import loader
import yaml

from sandbox import person
from sandbox import story
from sandbox.story import expect

_HOOK = 'osc_nova_reservations.sdk:install'


def tell(auth_url: str, timeline: story.Timeline) -> None:
    """Lease a host with openstacksdk, and put a server on it."""
    operator = person.Operator(auth_url)
    conn = _connect(auth_url, timeline, 'demo')
    admin = _connect(auth_url, timeline, 'admin')
    with timeline.step('openstacksdk enrols a host, by vendor_hook') as seen:
        host = admin.reservation.create_host(operator.hosts()[0])
        seen(host.service_name)
    with timeline.step('leases it, and waits for it') as seen:
        lease = conn.reservation.create_lease(
            name='program',
            start_date='now',
            duration='PT1H',
            reservations=[
                {
                    'resource_type': 'physical:host',
                    'min': 1,
                    'max': 1,
                    'hypervisor_properties': '',
                    'resource_properties': '',
                }
            ],
        )
        lease = conn.reservation.wait_for_lease(lease, interval=0.2, wait=30)
        seen(lease.status)
    with timeline.step('creates a server in it, by its name') as seen:
        demo = person.Person(auth_url, 'demo')
        server = conn.compute.create_server(
            name='program',
            image_id=demo.ingredients['imageRef'],
            flavor_id=demo.ingredients['flavorRef'],
            networks='none',
            scheduler_hints={'reservation': 'program'},
        )
        seen(conn.compute.wait_for_server(server, interval=1).status)
    with timeline.step('lists, prolongs and deletes it'):
        (listed,) = conn.reservation.leases(name='program')
        expect('id', lease.id, listed.id)
        (offer,) = conn.reservation.lease_offers(
            duration='PT1H', limit=1, reservations=_wanted(lease)
        )
        changed = conn.reservation.update_lease(
            lease, end_date=offer.start_date
        )
        expect('end', offer.start_date, changed.end_date)
        conn.reservation.delete_lease(lease)
        resource.wait_for_delete(conn.reservation, lease, 0.5, 60)
        admin.reservation.delete_host(host)
        expect('hosts', {}, operator.enrolled())


def _wanted(lease: Any) -> list[dict[str, Any]]:
    (reservation,) = lease.reservations
    return [{key: reservation[key] for key in ('resource_type', 'min', 'max')}]


def _connect(auth_url: str, timeline: story.Timeline, name: str) -> Any:
    """Return a connection as clouds.yaml describes it."""
    cloud = {
        'auth': {
            'auth_url': auth_url,
            'username': name,
            'password': name,
            'project_name': name,
            'user_domain_name': 'Default',
            'project_domain_name': 'Default',
        },
        'vendor_hook': _HOOK,
    }
    file = timeline.directory / f'clouds-{name}.yaml'
    file.write_text(yaml.safe_dump({'clouds': {name: cloud}}))
    config = loader.OpenStackConfig(
        config_files=[str(file)], load_envvars=False
    )
    return connection.Connection(config=config.get_one(name))

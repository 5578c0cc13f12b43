# SPDX-License-Identifier: Apache-2.0
"""The enforcement ``external_service``: another service allows leases.

Its requests, bodies, answers and option names are those of Blazar's
``ExternalServiceFilter``. In addition, the bodies have the id of a new lease.

Source: Blazar 18, blazar/enforcement/filters/external_service_filter.py
"""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import datetime
from typing import Any

from oslo_config import cfg
from oslo_log import log
import requests

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.objects import states
from nova_reservations.plugins.enforcement import base

LOG = log.getLogger(__name__)

_ACTIONS = {
    'check-create': 'external_service_check_create_endpoint',
    'check-update': 'external_service_check_update_endpoint',
    'on-end': 'external_service_on_end_endpoint',
}

_LONGEST = 1000
"""The maximum length of the service's message that a user sees."""

_DENIED = 'External service enforcement filter denied the request.'


class ExternalService(base.Enforcement):
    """Asks another service, by the requests of Blazar, whether a lease is
    allowed."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        if not any(map(self._address, _ACTIONS)):
            raise ValueError('external_service_base_endpoint is not set')

    def _address(self, action: str) -> str | None:
        group = self.conf.reservations
        own: str | None = group[_ACTIONS[action]]
        base_url: str | None = group.external_service_base_endpoint
        if own or not base_url:
            return own
        return f'{base_url.rstrip("/")}/{action}'

    def check_create(self, planned: base.Planned) -> None:
        lease = planned.lease
        warning = lease.event(states.EventType.BEFORE_END)
        self._check(
            'check-create',
            {
                'context': self._context(lease.user_id, lease.project_id),
                'lease': {
                    'id': lease.id,
                    'name': lease.name,
                    'start_date': _date(lease.start_date),
                    'end_date': _date(lease.end_date),
                    'before_end_date': warning and _date(warning.time),
                    'user_id': lease.user_id,
                    'project_id': lease.project_id,
                    'status': states.Lease.CREATING,
                    'reservations': _reservations(planned),
                },
            },
        )

    def check_update(
        self, current: base.Planned, planned: base.Planned
    ) -> None:
        lease = current.lease
        self._check(
            'check-update',
            {
                'context': self._context(lease.user_id, lease.project_id),
                'current_lease': _shown(current),
                'lease': _shown(planned),
            },
        )

    def on_end(
        self,
        lease: Mapping[str, Any],
        hosts: Mapping[str, Sequence[objects.Host]],
    ) -> None:
        ended = {
            **lease,
            'id': lease['lease_id'],
            'reservations': [
                {**item, 'allocations': _hosts(hosts.get(item['id'], ()))}
                for item in lease['reservations']
            ],
        }
        address = self._address('on-end')
        if address is not None:
            self._post(
                address,
                {
                    'context': self._context(
                        lease['user_id'], lease['project_id']
                    ),
                    'lease': ended,
                },
            )

    def _context(self, user_id: str, project_id: str) -> dict[str, Any]:
        return {
            'user_id': user_id,
            'project_id': project_id,
            'auth_url': self.conf.reservations.external_service_auth_url,
            'region_name': self.conf.reservations.region_name,
        }

    def _check(self, action: str, body: Mapping[str, Any]) -> None:
        """:raises: OverLimit, CloudUnavailable"""
        address = self._address(action)
        if address is None:
            return
        status, said = self._post(address, body)
        if status == 204:
            return
        if status is None or status >= 500:
            if self.conf.reservations.external_service_fail_open:
                LOG.warning('A lease is allowed that nobody has checked')
                return
            raise exception.CloudUnavailable(
                service='The service that allows leases', reason=said
            )
        raise exception.OverLimit(said if status == 403 and said else _DENIED)

    def _post(
        self, address: str, body: Mapping[str, Any]
    ) -> tuple[int | None, str]:
        """Return the status and the message of the answer; None and the error
        if there was no answer."""
        group = self.conf.reservations
        token = group.external_service_token
        try:
            with requests.Session() as session:
                # Use no password from .netrc, and no proxy from the
                # environment.
                session.trust_env = False
                answer = session.post(
                    address,
                    json=body,
                    headers={'X-Auth-Token': token} if token else {},
                    timeout=group.external_service_timeout,
                    allow_redirects=False,
                )
        except requests.RequestException as error:
            # The text of the error contains the address, which may have
            # credentials.
            reason = type(error).__name__
            LOG.warning('The external service does not answer: %s', reason)
            return None, reason
        if answer.status_code != 204:
            LOG.info('The external service says %d', answer.status_code)
        return answer.status_code, _words(answer)


def _words(answer: requests.Response) -> str:
    try:
        said = answer.json()['message']
    except (ValueError, KeyError, TypeError):
        return ''
    return said[:_LONGEST] if isinstance(said, str) else ''


def _shown(planned: base.Planned) -> dict[str, Any]:
    lease = planned.lease
    return {
        'id': lease.id,
        'name': lease.name,
        'user_id': lease.user_id,
        'project_id': lease.project_id,
        'start_date': _date(lease.start_date),
        'end_date': _date(lease.end_date),
        'trust_id': None,
        'status': lease.status,
        'degraded': lease.degraded,
        'created_at': _date(lease.created_at),
        'updated_at': lease.updated_at and _date(lease.updated_at),
        'events': [
            {
                'id': event.id,
                'lease_id': lease.id,
                'event_type': event.event_type,
                'time': _date(event.time),
                'status': event.status,
            }
            for event in lease.events
        ],
        'reservations': _reservations(planned),
    }


def _reservations(planned: base.Planned) -> list[dict[str, Any]]:
    return [
        {
            **item.told,
            'id': item.id,
            'resource_type': item.resource_type,
            'allocations': _hosts(planned.hosts.get(item.id, ())),
        }
        for item in planned.lease.reservations
    ]


def _hosts(hosts: Iterable[objects.Host]) -> list[dict[str, Any]]:
    """Return hosts in the format of Blazar."""
    return [
        {
            **host.properties,
            'id': str(host.id),
            'hypervisor_hostname': host.facts.hypervisor_hostname,
            'service_name': host.facts.service_host,
            'vcpus': host.facts.vcpus,
            'memory_mb': host.facts.memory_mb,
            'local_gb': host.facts.local_gb,
            'cpu_info': host.facts.cpu_info,
            'hypervisor_type': host.facts.hypervisor_type,
            'hypervisor_version': host.facts.hypervisor_version,
            'availability_zone': host.facts.availability_zone,
            'reservable': host.bookable,
        }
        for host in hosts
    ]


def _date(when: datetime.datetime) -> str:
    """Return a time in the format of Blazar: UTC without a time zone."""
    return when.strftime('%Y-%m-%dT%H:%M:%S')

# SPDX-License-Identifier: Apache-2.0
"""The bodies of gophercloud, which is written in Go: what it sends, and the
types and formats in which it reads the answers."""

from collections.abc import Mapping
import datetime
from typing import Any

from sandbox import person
from sandbox.person import body
from sandbox.stories import cast
from sandbox.story import expect

_SENT = '%Y-%m-%d %H:%M'
_DATE = '%Y-%m-%dT%H:%M:%S.%f'
_STAMP = '%Y-%m-%d %H:%M:%S'

#: Key -> its type, or the format of its date. Go refuses the whole answer if
#: one has another; null is nothing.
_Kinds = Mapping[str, type | str]

_RECORD: _Kinds = {'id': str, 'created_at': _STAMP, 'updated_at': _STAMP}
_LEASE: _Kinds = {
    **_RECORD,
    'name': str,
    'start_date': _DATE,
    'end_date': _DATE,
    'status': str,
    'degraded': bool,
    'user_id': str,
    'project_id': str,
    'trust_id': str,
    'reservations': list,
    'events': list,
}
_RESERVATION: _Kinds = {
    **_RECORD,
    'lease_id': str,
    'status': str,
    'missing_resources': bool,
    'resources_changed': bool,
    'resource_id': str,
    'resource_type': str,
    'min': int,
    'max': int,
    'hypervisor_properties': str,
    'resource_properties': str,
    'before_end': str,
    'amount': int,
    'vcpus': int,
    'memory_mb': int,
    'disk_gb': int,
    'affinity': bool,
    'flavor_id': str,
    'server_group_id': str,
    'aggregate_id': int,
}
_EVENT: _Kinds = {
    **_RECORD,
    'lease_id': str,
    'status': str,
    'event_type': str,
    'time': _DATE,
}
_HOST: _Kinds = {
    **_RECORD,
    'hypervisor_hostname': str,
    'hypervisor_type': str,
    'hypervisor_version': int,
    'service_name': str,
    'vcpus': int,
    'cpu_info': str,
    'memory_mb': int,
    'local_gb': int,
    'status': str,
    'availability_zone': str,
    'trust_id': str,
    'reservable': bool,
}
_ALLOCATION: _Kinds = {'resource_id': str, 'reservations': list}
_LISTED_PROPERTY: _Kinds = {'property': str, 'private': bool, 'values': list}
_PROPERTY: _Kinds = {
    'id': str,
    'resource_type': str,
    'property_name': str,
    'private': bool,
    'created_at': _DATE,
    'updated_at': _DATE,
}

_CAPABILITIES = {'gpu': 'a100'}


class Chapter(cast.Cast):
    """A host and a lease, each read by its rules after each request."""

    def tell(self, host: str) -> None:
        """Enrol the host, lease it, and let it go."""
        reservation = self.operator.reservation
        with self.step('gophercloud: a host with a capability'):
            wanted = {'name': host, **_CAPABILITIES}
            answer = reservation.post('/os-hosts', json=wanted)
            key = str(_host(body(answer, 201)['host'])['id'])
        with self.step('nothing but it is a capability'):
            for each in body(reservation.get('/os-hosts'))['hosts']:
                _host(each)
            shown = _host(body(reservation.get(f'/os-hosts/{key}'))['host'])
            known = {'created_at', 'updated_at', *_HOST}
            left = {name: shown[name] for name in shown.keys() - known}
            expect('capabilities', _CAPABILITIES, left)
            changed = reservation.put(f'/os-hosts/{key}', json={'gpu': 'h100'})
            expect('gpu', 'h100', _host(body(changed)['host'])['gpu'])
        with self.step('the capability is a property, which has an id'):
            listed = body(reservation.get('/os-hosts/properties?detail=True'))
            for each in listed['resource_properties']:
                _read(each, _LISTED_PROPERTY)
            answer = reservation.patch(
                '/os-hosts/properties/gpu', json={'private': False}
            )
            _read(body(answer)['resource_property'], _PROPERTY)
        with self.step('a lease of a host and of slots'):
            lease = self._create()
        with self.step('it is renamed and moved'):
            self._change(lease)
        with self.step('the host shows that it is reserved') as seen:
            path = f'/os-hosts/{key}/allocation'
            allocation = body(reservation.get(path))['allocation']
            _read(allocation, _ALLOCATION)
            for each in allocation['reservations']:
                _read(
                    each,
                    {
                        'id': str,
                        'lease_id': str,
                        'start_date': _DATE,
                        'end_date': _DATE,
                    },
                )
            seen(str(len(allocation['reservations'])))
        with self.step('both are deleted'):
            self.delete_lease(lease)
            body(reservation.delete(f'/os-hosts/{key}'), 204)

    def _create(self) -> str:
        start = cast.now() + cast.hours(1)
        wanted = {
            'name': 'go',
            'start_date': start.strftime(_SENT),
            'end_date': (start + cast.hours(2)).strftime(_SENT),
            'before_end_date': (start + cast.hours(1)).strftime(_SENT),
            'reservations': [
                {
                    'resource_type': 'physical:host',
                    'min': 1,
                    'max': 1,
                    'hypervisor_properties': '[">=", "$memory_mb", "512"]',
                    'resource_properties': '["==", "$gpu", "h100"]',
                    'before_end': 'default',
                },
                {
                    'resource_type': 'virtual:instance',
                    'amount': 1,
                    'vcpus': 1,
                    'memory_mb': 64,
                    'disk_gb': 1,
                    'affinity': None,
                    'resource_properties': '',
                },
            ],
        }
        answer = self.operator.reservation.post('/leases', json=wanted)
        lease = _lease(body(answer, 201)['lease'])
        times = {each['event_type']: each['time'] for each in lease['events']}
        expect('start', lease['start_date'], times['start_lease'])
        expect('end', lease['end_date'], times['end_lease'])
        _, slots = lease['reservations']
        expect('flavor', slots['id'], slots['flavor_id'])
        return str(lease['id'])

    def _change(self, key: str) -> None:
        path = f'/leases/{key}'
        lease = _lease(body(self.operator.reservation.get(path))['lease'])
        start = _date(lease['start_date']) + datetime.timedelta(minutes=10)
        end = _date(lease['end_date']) + cast.hours(1)
        changes = {
            'name': 'gone',
            'start_date': start.strftime(_SENT),
            'end_date': end.strftime(_SENT),
            'before_end_date': (end - cast.hours(0.5)).strftime(_SENT),
        }
        answer = self.operator.reservation.put(path, json=changes)
        changed = _lease(body(answer)['lease'])
        expect('name', 'gone', changed['name'])
        expect(
            'dates',
            (start, end),
            (_date(changed['start_date']), _date(changed['end_date'])),
        )
        slots = {'id': changed['reservations'][1]['id'], 'memory_mb': 128}
        answer = self.operator.reservation.put(
            path, json={'reservations': [slots]}
        )
        _, slots = _lease(body(answer)['lease'])['reservations']
        expect('memory', 128, slots['memory_mb'])
        for each in body(self.operator.reservation.get('/leases'))['leases']:
            _lease(each)


def _date(text: str) -> datetime.datetime:
    return datetime.datetime.strptime(text, _DATE)


def _host(document: Any) -> Any:
    return _read(document, _HOST)


def _lease(document: Any) -> Any:
    """Read a lease with all that is in it."""
    _read(document, _LEASE)
    for each in document['reservations']:
        _read(each, _RESERVATION)
    for each in document['events']:
        _read(each, _EVENT)
    return document


def _read(document: Any, kinds: _Kinds) -> Any:
    """Return the document.

    :raises Unexpected: if Go could not read it.
    """
    for key, kind in kinds.items():
        value = document.get(key)
        if value is None:
            continue
        if isinstance(kind, str):
            try:
                datetime.datetime.strptime(value, kind)
            except ValueError:
                raise person.Unexpected(f'{key}: {kind}', value) from None
        elif type(value) is not kind:
            raise person.Unexpected(f'{key}: {kind.__name__}', value)
    return document

# SPDX-License-Identifier: Apache-2.0
"""The requests of Chameleon's doni, which is on no package index: it enrols
hosts, with their properties, and leases them for windows of time."""

from typing import Any

from sandbox.person import body
from sandbox.stories import cast
from sandbox.story import expect

_WINDOW = 'availability_window_1'
_FORMAT = '%Y-%m-%d %H:%M'


class Chapter(cast.Cast):
    """A host, of which doni has another opinion each time it looks."""

    def tell(self, host: str, properties: dict[str, Any]) -> None:
        """Enrol the host, which stays; lease a window, which does not.

        :param properties: of the host, in the form that doni gives them;
            among them its uid
        """
        with self.step('doni: a host is enrolled with its properties') as seen:
            wanted = {'name': host, **properties}
            answer = self.operator.reservation.post('/os-hosts', json=wanted)
            key = str(body(answer, 201)['host']['id'])
            seen(', '.join(properties))
        with self.step('once more it is a conflict, and doni looks for it'):
            body(self.operator.reservation.post('/os-hosts', json=wanted), 409)
            # This GET has a body.
            answer = self.operator.reservation.get('/os-hosts', json={})
            names = [
                each['hypervisor_hostname'] for each in body(answer)['hosts']
            ]
            expect('names', [host], names)
        with self.step('it puts what differs from what it reads'):
            path = f'/os-hosts/{key}'
            changed = {**properties, 'placement.rack': 'r2'}
            # Twice: numbers are read as texts, as in Blazar, and so differ.
            for _ in range(2):
                answer = self.operator.reservation.put(path, json=changed)
                expect('its answer', key, str(body(answer)['host']['id']))
            there = body(self.operator.reservation.get(path))['host']
            texts = {name: str(value) for name, value in changed.items()}
            expect('properties', texts, {name: there[name] for name in texts})
        self._lease(properties['uid'])

    def _lease(self, uid: str) -> None:
        start, end = cast.now() + cast.hours(1), cast.now() + cast.hours(3)
        window = {
            'name': _WINDOW,
            'start_date': start.strftime(_FORMAT),
            'end_date': end.strftime(_FORMAT),
        }
        reservation = {
            'resource_type': 'physical:host',
            'min': 1,
            'max': 1,
            'hypervisor_properties': None,
            'resource_properties': f'["==","$uid","{uid}"]',
        }
        with self.step('a window of time is a lease of the host'):
            wanted = {**window, 'reservations': [reservation]}
            answer = self.operator.reservation.post('/leases', json=wanted)
            lease = str(body(answer, 201)['lease']['id'])
        with self.step('it is found by its name and by the uid in it'):
            found = body(self.operator.reservation.get('/leases'))['leases']
            ours = [
                each['id']
                for each in found
                if each['name'] == _WINDOW and uid in str(each['reservations'])
            ]
            expect('leases', [lease], ours)
        with self.step('the window is moved, and put as it is'):
            window['end_date'] = (end + cast.hours(1)).strftime(_FORMAT)
            for _ in range(2):
                answer = self.operator.reservation.put(
                    f'/leases/{lease}', json=window
                )
                expect('lease', lease, body(answer)['lease']['id'])
        with self.step('and closed'):
            self.delete_lease(lease)

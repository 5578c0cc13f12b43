# SPDX-License-Identifier: Apache-2.0
"""Users who lease hosts for a few seconds, whatever the cloud answers."""

import dataclasses
import datetime
import random
import threading

from keystoneauth1 import exceptions as ks_exc
import requests

from sandbox import person

#: Errors that users may get from a cloud with faults.
TROUBLE = (
    ks_exc.ClientException,
    requests.RequestException,
    person.Unexpected,
)


@dataclasses.dataclass
class Promises:
    """The answers that users got: owner -> ids of leases.

    :ivar made: leases whose creation was confirmed.
    :ivar deleted: leases whose deletion was requested, whatever the answer.
    :ivar servers: the number of accepted servers in leases.
    """

    made: set[str] = dataclasses.field(default_factory=set)
    deleted: set[str] = dataclasses.field(default_factory=set)
    servers: int = 0


class Load:
    """Users who work until they are stopped."""

    def __init__(self, auth_url: str, name: str, seed: str) -> None:
        """:param name: the name of all leases"""
        self.promises = Promises()
        self._auth_url = auth_url
        self._name = name
        self._over = threading.Event()
        self._users = [
            threading.Thread(
                target=self._use,
                args=(user, random.Random(f'{seed} {number}')),  # noqa: S311
                daemon=True,
            )
            for number, user in enumerate(('demo', 'alt', 'demo'))
        ]
        for user in self._users:
            user.start()

    def stop(self) -> None:
        self._over.set()
        for user in self._users:
            user.join(120)

    def _use(self, user: str, chance: random.Random) -> None:
        who = person.Person(self._auth_url, user)
        while not self._over.is_set():
            try:
                self._lease(who, chance)
            except TROUBLE:
                # Errors are expected. The pause avoids a busy loop during a
                # fault that lasts for a while.
                self._over.wait(0.5)

    def _lease(self, who: person.Person, chance: random.Random) -> None:
        """Lease a host for some seconds, and act on the lease."""
        now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
        ahead = chance.choice((0, 0, 2, 4))
        start = now + datetime.timedelta(seconds=ahead)
        end = start + datetime.timedelta(seconds=chance.randint(3, 6))
        fate = chance.choice(('end', 'server', 'server', 'cut', 'delete'))
        answer = who.ask_lease(self._name, start if ahead else None, end, 1)
        if person.no_room(answer):
            self._over.wait(0.5)
            return
        lease = person.body(answer, 201)['lease']
        self.promises.made.add(lease['id'])
        if fate == 'server':
            self._wait_for_start(who, lease['id'])
            booted = who.boot('leased', lease['reservations'][0]['id'])
            self.promises.servers += booted.status_code == 202
        elif fate == 'cut':
            self._over.wait(ahead + 1)
            who.reservation.put(
                f'/leases/{lease["id"]}', json={'end_date': 'now'}
            )
        elif fate == 'delete':
            self._over.wait(chance.uniform(0, ahead + 4))
            self.promises.deleted.add(lease['id'])
            who.reservation.delete(f'/leases/{lease["id"]}')
        self._over.wait(chance.uniform(0.2, 1.5))

    def _wait_for_start(self, who: person.Person, lease: str) -> None:
        """Wait until the lease has begun, or can not begin any more."""
        while not self._over.is_set():
            seen = who.lease(lease)
            if seen is None or seen['status'] not in ('PENDING', 'STARTING'):
                return
            self._over.wait(0.3)

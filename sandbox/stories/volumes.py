# SPDX-License-Identifier: Apache-2.0
"""Volumes, with hosts, and a whole pool are leased on a real Cinder."""

from typing import Any

import requests

from sandbox import ini
from sandbox import layout as lo
from sandbox import person
from sandbox import story
from sandbox.person import body
from sandbox.polls import until
from sandbox.stories import cast
from sandbox.stories import commands
from sandbox.story import expect

_FAST, _OPEN = 'storage@files#fast', 'storage@files#open'
_KEPT = 'standard'
_SIZE = 10

CONF: ini.Sections = {'reservations': {'kept_volume_type': _KEPT}}


def tell(auth_url: str, timeline: story.Timeline) -> None:
    """Lease volumes with hosts, and the pool: from enrolment to
    clean-up."""
    told = _Volumes(auth_url, timeline)
    told.enrol()
    lease = told.lease_both()
    told.keep_others_out(lease)
    told.let_others_in()
    told.repair()
    told.lose_the_pool(lease)
    told.end(lease)
    told.lease_the_pool()
    told.keep()
    told.back_up()
    told.wait_for_cinder()
    told.lose_the_role()


class _Volumes(cast.Cast):
    """The chapters, in the order in which they are told."""

    def __init__(self, auth_url: str, timeline: story.Timeline) -> None:
        super().__init__(auth_url, timeline)
        self.services = timeline.services
        self.directory = timeline.directory
        self.etc = timeline.services.layout.etc
        self.host = self.operator.hosts()[0]
        self.project = str(self._one('projects', 'demo')['id'])

    def enrol(self) -> None:
        until(
            'pools',
            lambda: self._ask_admin('/scheduler-stats/get_pools')['pools'],
            lambda seen: len(seen) == len(lo.POOLS),
        )
        with self.step('a pool that others reach is refused') as seen:
            seen(cast.refusal(self._enrol(), 400))
        with self.step('__DEFAULT__ leads elsewhere, and it is enrolled'):
            self._set_specs(self._types()['__DEFAULT__'], pool_name='open')
            added = body(self._enrol(), 201)['resource']
            expect('GiB', {'VOLUME_GB': 100}, added['inventories'])
        self.enrol_all_of([self.host])

    def lease_both(self) -> str:
        with self.step('demo leases a host and two volumes') as seen:
            lease = self._lease(self.demo, 2)
            seen(self.wait_for(lease, 'ACTIVE'))
        with self.step('it has them, in the pool') as seen:
            there = self._volumes()
            expect('number', 2, len(there))
            for each in there:
                expect('status', 'available', each['status'])
                expect('size', _SIZE, each['size'])
                shown = self._ask_admin(f'/volumes/{each["id"]}')['volume']
                expect('pool', _FAST, shown['os-vol-host-attr:host'])
            seen(there[0]['volume_type'])
        with self.step('the lease shows which they are'):
            expect(
                'volumes',
                sorted(each['id'] for each in there),
                self._part(lease)['volumes'],
            )
        return lease

    def keep_others_out(self, lease: str) -> None:
        with self.step('demo can make no more of them') as seen:
            (name,) = {each['volume_type'] for each in self._volumes()}
            refused = self._create(self.demo, name)
            seen(cast.refusal(refused, 413))
        with self.step('another project does not know the type') as seen:
            seen(cast.refusal(self._create(self.alt, name), 404))
        with self.step('and its own volumes are elsewhere') as seen:
            made = body(self._create(self.alt), 202)['volume']['id']
            shown = self._made(made)
            seen(shown['os-vol-host-attr:host'])
            expect('pool', _OPEN, shown['os-vol-host-attr:host'])
            body(self.alt.volume.delete(f'/volumes/{made}'), 202)
        with self.step('no lease gets what is promised') as seen:
            seen(cast.refusal(self._ask(self.alt, 9), 400))

    def let_others_in(self) -> None:
        with self.step('somebody lets others into the pool') as seen:
            default = self._types()['__DEFAULT__']
            self._set_specs(default, pool_name='fast')
            told = commands.audit(self.etc)
            if '__DEFAULT__ leads to pool' not in told:
                raise person.Unexpected('__DEFAULT__', told)
            seen(told.strip().splitlines()[0])
        with self.step('what comes in is named, until it is gone') as seen:
            strange = body(self._create(self.alt), 202)['volume']['id']
            expect('pool', _FAST, self._made(strange)['os-vol-host-attr:host'])
            told = commands.audit(self.etc)
            named = f'Volume {strange}, which is of no lease'
            if named not in told:
                raise person.Unexpected(named, told)
            seen(next(each for each in told.splitlines() if named in each))
            body(self.alt.volume.delete(f'/volumes/{strange}'), 202)
            until(
                'nothing of theirs',
                lambda: body(self.alt.volume.get('/volumes'))['volumes'],
                lambda there: there == [],
                60,
            )
            self._set_specs(default, pool_name='open')

    def repair(self) -> None:
        (name,) = {each['volume_type'] for each in self._volumes()}
        path = f'/types/{self._types()[name]}'
        with self.step('somebody takes access, and then lets all in'):
            taken = {'removeProjectAccess': {'project': self.project}}
            body(self.operator.volume.post(f'{path}/action', json=taken), 202)
            body(
                self.operator.volume.put(
                    path, json={'volume_type': {'is_public': True}}
                )
            )
        with self.step('somebody deletes a volume'):
            lost, _ = (each['id'] for each in self._volumes())
            body(self.demo.volume.delete(f'/volumes/{lost}'), 202)
            until(
                'one volume',
                self._volumes,
                lambda there: len(there) == 1,
                60,
            )
        with self.step('nova-reservations-manage audit --repair') as seen:
            told = commands.audit(self.etc, '--repair')
            for problem in f'{name} is public', '1 of its 2 volumes':
                if problem not in told:
                    raise person.Unexpected(problem, told)
            seen(told)
        with self.step('all is as it was') as seen:
            until(
                'two volumes',
                self._volumes,
                lambda there: (
                    [each['status'] for each in there] == ['available'] * 2
                ),
                60,
            )
            shown = self._ask_admin(path)['volume_type']
            expect('public', False, shown['is_public'])
            access = self._ask_admin(f'{path}/os-volume-type-access')
            expect(
                'projects',
                [self.project],
                [each['project_id'] for each in access['volume_type_access']],
            )

    def lose_the_pool(self, lease: str) -> None:
        folder = lo.folder_of_pools(self.directory / 'cinder') / 'fast'
        with self.step('the pool goes down, and the lease is marked') as seen:
            folder.rename(folder.with_name('away'))
            part = until(
                'missing',
                lambda: self._part(lease),
                lambda seen: seen['missing_resources'],
                60,
            )
            seen(part['status'])
        with self.step('it is back, and so is all that was there'):
            folder.with_name('away').rename(folder)
            until(
                'not missing',
                lambda: self._part(lease),
                lambda seen: not seen['missing_resources'],
                60,
            )
            expect('number', 2, len(self._volumes()))

    def end(self, lease: str) -> None:
        with self.step('at its end they are gone, and so is the type') as seen:
            self._set(lease, end_date='now')
            seen(self.wait_for(lease, 'TERMINATED'))
            expect('volumes', [], self._volumes())
            expect('types', ['__DEFAULT__'], [*self._types()])

    def lease_the_pool(self) -> None:
        with self.step('demo leases the pool as a whole') as seen:
            asked = self._ask_for_the_pool(self.demo)
            lease = str(body(asked, 201)['lease']['id'])
            seen(self.wait_for(lease, 'ACTIVE', 60))
        with self.step('nobody else gets any of it') as seen:
            seen(cast.refusal(self._ask(self.alt, 1), 400))
            cast.refusal(self._ask_for_the_pool(self.alt), 400)
        with self.step('demo makes there what it wants') as seen:
            (part,) = self.demo.lease(lease)['reservations']
            (name,) = part['volume_types']
            made = [
                body(self._create(self.demo, name, size), 202)['volume']['id']
                for size in (20, 70)
            ]
            for each in made:
                shown = self._made(each)
                expect('pool', _FAST, shown['os-vol-host-attr:host'])
            seen(name)
            (part,) = self.demo.lease(lease)['reservations']
            expect('volumes', sorted(made), part['volumes'])
        self._keep_out(name, made[0])
        with self.step('the audit has nothing to say'):
            told = commands.audit(self.etc)
            if name in told or _FAST in told:
                raise person.Unexpected('nothing', told)
        with self.step('at its end the pool is empty') as seen:
            self._set(lease, end_date='now')
            seen(self.wait_for(lease, 'TERMINATED', 60))
            expect('volumes', [], self._volumes())
            expect('types', ['__DEFAULT__'], [*self._types()])

    def _keep_out(self, name: str, volume: str) -> None:
        """Check that another project can neither create a volume of demo's
        volume type, nor get a volume that has it."""
        with self.step('another project does not know the type') as seen:
            seen(cast.refusal(self._create(self.alt, name), 404))
        with self.step('nor can it move a volume of its own there') as seen:
            own = body(self._create(self.alt), 202)['volume']['id']
            self._made(own)
            retype = {'new_type': name, 'migration_policy': 'on-demand'}
            refused = self.alt.volume.post(
                f'/volumes/{own}/action', json={'os-retype': retype}
            )
            seen(cast.refusal(refused, 404))
            body(self.alt.volume.delete(f'/volumes/{own}'), 202)
        with self.step('nor take over one that demo offers') as seen:
            offered = {'transfer': {'volume_id': volume, 'name': 'take it'}}
            offer = body(
                self.demo.volume.post('/volume-transfers', json=offered), 202
            )['transfer']
            path = f'/volume-transfers/{offer["id"]}'
            accepted = {'accept': {'auth_key': offer['auth_key']}}
            refused = self.alt.volume.post(f'{path}/accept', json=accepted)
            seen(cast.refusal(refused, 404))
            body(self.demo.volume.delete(path), 202)

    def keep(self) -> None:
        with self.step('volumes are not kept without a type for them') as seen:
            seen(cast.refusal(self._ask(self.demo, 1, end_action='keep'), 400))
            made = {
                'volume_type': {
                    'name': _KEPT,
                    'extra_specs': {'pool_name': 'open'},
                }
            }
            body(self.operator.volume.post('/types', json=made))
        with self.step('with one a volume stays, outside of the pool') as seen:
            lease = self._lease(self.demo, 1, end_action='keep')
            self.wait_for(lease, 'ACTIVE', 60)
            self._set(lease, end_date='now')
            self.wait_for(lease, 'TERMINATED', 60)
            (kept,) = self._volumes()
            expect('volume type', _KEPT, kept['volume_type'])
            shown = self._ask_admin(f'/volumes/{kept["id"]}')['volume']
            expect('pool', _OPEN, shown['os-vol-host-attr:host'])
            seen(kept['status'])
            body(self.demo.volume.delete(f'/volumes/{kept["id"]}'), 202)

    def back_up(self) -> None:
        with self.step('a volume is backed up, and deleted') as seen:
            lease = self._lease(self.demo, 1, end_action='backup', size_gb=1)
            self.wait_for(lease, 'ACTIVE', 60)
            (volume,) = self._part(lease)['volumes']
            self._set(lease, end_date='now')
            self.wait_for(lease, 'TERMINATED', 300)
            (backup,) = body(self.demo.volume.get('/backups/detail'))[
                'backups'
            ]
            expect('volume', volume, backup['volume_id'])
            expect('status', 'available', backup['status'])
            expect('volumes', [], self._volumes())
            seen(f'{backup["size"]} GiB')

    def wait_for_cinder(self) -> None:
        with self.step('while Cinder is gone a start waits') as seen:
            lease = self._lease(self.demo, 1, later=True)
            self.services.kill('volume')
            self._set(lease, start_date='now')
            reason = until(
                'a reason',
                lambda: self.demo.lease(lease)['status_reason'],
                bool,
            )
            seen(reason)
            asked = self._ask(self.alt, 1, end_action='backup')
            seen(cast.refusal(asked, 503))
        with self.step('it is there again') as seen:
            self.services.restart('volume')
            seen(self.wait_for(lease, 'ACTIVE', 90))
            expect('number', 1, len(self._volumes()))
            self.delete_lease(lease, 60)
            expect('volumes', [], self._volumes())

    def lose_the_role(self) -> None:
        with self.step('without a role in the projects they are refused'):
            domain = self._one('projects', 'demo')['domain_id']
            user = self._one('users', 'nova')['id']
            role = self._one('roles', 'member')['id']
            body(
                self.operator.identity.delete(
                    f'/OS-INHERIT/domains/{domain}/users/{user}/roles/{role}'
                    '/inherited_to_projects'
                ),
                204,
            )
        with self.step('POST says so') as seen:
            answer = until(
                '400',
                lambda: self._ask(self.demo, 1, dry_run=True),
                lambda answer: answer.status_code == 400,
                60,
            )
            seen(cast.refusal(answer, 400))
        with self.step('so does nova-reservations-status') as seen:
            told = commands.upgrade_check(self.etc)
            if 'no role that projects inherit' not in told:
                raise person.Unexpected('no role', told)

    def _enrol(self) -> requests.Response:
        return self.operator.reservation.post(
            '/resources',
            json={
                'resource_type': 'virtual:volume',
                'name': _FAST,
                'properties': {'volume_type': 'fast'},
            },
        )

    def _ask(
        self,
        who: person.Person,
        amount: int,
        later: bool = False,
        dry_run: bool = False,
        **more: Any,
    ) -> requests.Response:
        """Ask for volumes, and as demo for a host too, from now on or in an
        hour."""
        start = cast.now() + cast.hours(1) if later else None
        return who.reservation.post(
            '/leases' + '?dry_run=true' * dry_run,
            json={
                'name': 'both',
                'start_date': start.isoformat() if start else 'now',
                'end_date': (cast.now() + cast.hours(2)).isoformat(),
                'reservations': [
                    *(
                        [
                            {
                                'resource_type': 'physical:host',
                                'min': 1,
                                'max': 1,
                            }
                        ]
                        if who is self.demo
                        else []
                    ),
                    {
                        'resource_type': 'virtual:volume',
                        'size_gb': _SIZE,
                        'amount': amount,
                        'volume_type': 'fast',
                        **more,
                    },
                ],
            },
        )

    def _ask_for_the_pool(self, who: person.Person) -> requests.Response:
        return who.reservation.post(
            '/leases',
            json={
                'name': 'all of it',
                'start_date': 'now',
                'end_date': (cast.now() + cast.hours(2)).isoformat(),
                'reservations': [
                    {
                        'resource_type': 'physical:storage',
                        'volume_type': 'fast',
                    }
                ],
            },
        )

    def _lease(
        self,
        who: person.Person,
        amount: int,
        later: bool = False,
        **more: Any,
    ) -> str:
        answer = self._ask(who, amount, later, **more)
        return str(body(answer, 201)['lease']['id'])

    def _set(self, lease: str, **changes: str) -> None:
        body(self.demo.reservation.put(f'/leases/{lease}', json=changes))

    def _part(self, lease: str) -> Any:
        """Return the reservation of volumes."""
        (found,) = (
            each
            for each in self.operator.lease(lease)['reservations']
            if each['resource_type'] == 'virtual:volume'
        )
        return found

    def _volumes(self) -> list[dict[str, Any]]:
        """Return demo's volumes, as it sees them."""
        found = body(self.demo.volume.get('/volumes/detail'))['volumes']
        return [each for each in found if each['status'] != 'deleting']

    def _create(
        self,
        who: person.Person,
        volume_type: str | None = None,
        size: int = 1,
    ) -> requests.Response:
        fields: dict[str, Any] = {'size': size} | (
            {'volume_type': volume_type} if volume_type else {}
        )
        return who.volume.post('/volumes', json={'volume': fields})

    def _made(self, volume: str) -> Any:
        """Wait until Cinder has created a volume; return it."""
        return until(
            'a volume',
            lambda: self._ask_admin(f'/volumes/{volume}')['volume'],
            lambda seen: seen['status'] == 'available',
            60,
        )

    def _types(self) -> dict[str, str]:
        found = self._ask_admin('/types?is_public=None')['volume_types']
        return {each['name']: each['id'] for each in found}

    def _set_specs(self, volume_type: str, **specs: str) -> None:
        body(
            self.operator.volume.post(
                f'/types/{volume_type}/extra_specs',
                json={'extra_specs': specs},
            )
        )

    def _ask_admin(self, path: str) -> Any:
        return body(self.operator.volume.get(path))

    def _one(self, noun: str, name: str) -> Any:
        found = body(self.operator.identity.get(f'/{noun}?name={name}'))
        return found[noun][0]

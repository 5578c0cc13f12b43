# SPDX-License-Identifier: Apache-2.0
"""A machine that is replaced by another one of the same name.

A fault is over when its function returns.
"""

from collections.abc import Mapping
from typing import Any
import uuid

from sandbox import layout as lo
from sandbox import person
from sandbox import polls
from sandbox import story
from sandbox.faults import faults
from sandbox.faults import held

#: Seconds in which workers must see that a host is lost: they look every
#: polling_interval (60 s).
_SEEN = 90

#: Seconds in which a lease gets the machine that has taken its host's place:
#: resources that come free are given at the same looks.
_GIVEN = 90


def node_replaced(scene: faults.Scene) -> None:
    """The machine of a leased host breaks, and is replaced by another one of
    the same name, which is then added again."""
    leases = held.Leases(scene)
    lease = leases.begin(scene.verdict.enrolled)
    lost = leases.host_of(lease)
    leases.boot(lease)
    operator = leases.operator
    row = _host(operator, lost)
    old = _node(operator, lost)
    _replace(scene, operator, lost)
    new = polls.until(
        f'another node by the name {lost}',
        lambda: _node(operator, lost),
        lambda seen: seen not in (None, old),
        60,
    )
    polls.until(
        f'{lost} to be lost: it has no provider {old}',
        lambda: _host(operator, lost)['status_reason'] or '',
        lambda reason: str(old) in reason,
        _SEEN,
    )
    story.expect(
        f'no room on {lost}',
        True,
        person.no_room(leases.request([lost])),
    )
    polls.until(
        f'{lease} to have another host, or to say that it lacks one',
        lambda: (leases.host_of(lease), leases.lacks(lease)),
        lambda seen: (seen[0] != lost) != seen[1],
        _SEEN,
    )
    added = person.body(
        operator.reservation.post('/os-hosts', json={'name': lost}), 201
    )['host']
    story.expect(f'the row of {lost}', row['id'], added['id'])
    leases.wait_until_reservable(lost)
    polls.until(
        f'{lease} to have its host',
        lambda: leases.lacks(lease),
        lambda lacks: not lacks,
        _GIVEN,
    )
    leases.boot(lease)
    leases.end_all()
    there = leases.boot(leases.begin([lost]))
    story.expect('the host of a server', lost, there)
    story.expect(f'the node of {lost}', new, _node(operator, lost))
    leases.end_all()


def _replace(
    scene: faults.Scene, operator: person.Operator, host: str
) -> None:
    """Replace a machine, which Nova allows once no server is there."""
    compute = f'nova-compute@{host}'
    scene.services.kill(compute)
    operator.force_down(host, True)
    # Users may still have had a server built there.
    polls.until(
        f'Nova to have deleted the service of {host}',
        lambda: operator.delete_compute(host),
        bool,
        120,
    )
    identity = lo.identity(scene.services.layout.directory, host)
    identity.write_text(str(uuid.uuid4()))
    scene.services.restart(compute)


def _node(operator: person.Operator, host: str) -> str | None:
    """Return the UUID of the node that has this name now."""
    nodes = person.body(operator.compute.get('/os-hypervisors'))['hypervisors']
    named = (each for each in nodes if each['hypervisor_hostname'] == host)
    return next((str(each['id']) for each in named), None)


def _host(operator: person.Operator, name: str) -> dict[str, Any]:
    """Return the only enrolled host of this name."""
    hosts = person.body(operator.reservation.get('/os-hosts?detail=True'))[
        'hosts'
    ]
    (found,) = (each for each in hosts if each['service_name'] == name)
    return dict(found)


FAULTS: Mapping[str, faults.Fault] = {'node-replaced': node_replaced}

# SPDX-License-Identifier: Apache-2.0
"""The time until leases start and end."""

import datetime
import statistics
import time

from sandbox import person
from sandbox import polls
from sandbox import story
from sandbox.bench import measure
from sandbox.bench import subject as su
from sandbox.bench.report import Figure
from sandbox.bench.report import Row
from sandbox.person import body

#: Seconds between two polls.
_POLL = 0.01


def start(subject: su.Subject) -> Row:
    """A lease that starts now, and many that start in the same second."""
    count = subject.pick(50, 200)
    subject.populate(count)
    samples, leases = [], []
    for _ in range(subject.pick(20, 100)):
        began = time.monotonic()
        leases.append(subject.create(None))
        _wait(subject, leases[-1])
        samples.append(time.monotonic() - began)
        if len(leases) == subject.pick(20, 50):
            subject.delete(leases)
            leases.clear()
    subject.delete(leases)
    late = _lateness(subject, count)
    return Row(
        [
            Figure(
                'a lease that starts now is ACTIVE, p95',
                measure.percentile(samples, 95),
                's',
                limit=1,
            ),
            Figure(
                f'{count} prepared leases due in one second, lateness p99',
                measure.percentile(late, 99),
                's',
                limit=3,
            ),
        ]
    )


def _wait(subject: su.Subject, lease: str) -> None:
    while not subject.active([lease]):
        time.sleep(_POLL)


def _lateness(subject: su.Subject, count: int) -> list[float]:
    """Return how many seconds late each of so many leases is ACTIVE."""
    due = su.now() + datetime.timedelta(seconds=10 + count // 4)

    def create(who: person.Person, name: str) -> str:
        return str(body(subject.ask(who, due, 1), 201)['lease']['id'])

    leases = subject.each_client(create, ['bench'] * count)
    subject.wait_prepared(leases, (due - su.now()).total_seconds())
    late = _watch(subject, leases, due)
    subject.delete(leases)
    return late


def _watch(
    subject: su.Subject, leases: list[str], due: datetime.datetime
) -> list[float]:
    """Return when each of them was seen to be ACTIVE, in seconds after due."""
    seen: list[float] = []
    while len(seen) < len(leases):
        time.sleep(_POLL)
        active = subject.active(leases)
        late = time.time() - due.timestamp()
        seen += [late] * (active - len(seen))
        if late > 120:
            raise person.Unexpected(f'{len(leases)} ACTIVE', active)
    return seen


def many_hosts(subject: su.Subject) -> Row:
    """The start of a lease of 100 hosts."""
    hosts = 100
    subject.populate(2 * hosts)
    due = su.now() + datetime.timedelta(seconds=subject.pick(15, 30))
    lease = subject.create(due, hosts)
    subject.wait_prepared([lease], (due - su.now()).total_seconds())
    (prepared,) = _watch(subject, [lease], due)
    began = time.monotonic()
    leases = [lease, subject.create(None, hosts)]
    _wait(subject, leases[-1])
    at_once = time.monotonic() - began
    one_by_one = subject.probe(
        'aggregate',
        hosts=[f'{subject.enrolled[0]}-{n}' for n in range(hosts, 2 * hosts)],
    )
    subject.delete(leases)
    return Row(
        [
            Figure(
                f'start of a lease of {hosts} hosts, prepared',
                prepared,
                's',
                floor=one_by_one,
                limit=1,
            ),
            Figure(
                f'start of a lease of {hosts} hosts, now',
                at_once,
                's',
                floor=one_by_one,
                limit=min(0.2 * one_by_one, 15),
            ),
        ]
    )


def end(subject: su.Subject) -> Row:
    """The end of a lease with many servers."""
    count = subject.pick(12, 100)
    # Two rounds: other work of Nova, for example each minute, falls into one
    # or the other.
    rounds = [_end(subject, count) for _ in range(subject.pick(1, 2))]
    nova, ours = (statistics.fmean(each) for each in zip(*rounds, strict=True))
    return Row(
        [
            Figure(
                f'end of a lease with {count} servers',
                ours,
                's',
                floor=nova,
                limit=nova + 2,
            )
        ]
    )


def _end(subject: su.Subject, count: int) -> tuple[float, float]:
    """Return the seconds in which clients delete so many servers, and in which
    the end of a lease does."""
    # The enrolled hosts that have a compute.
    names = subject.enrolled[1:]
    answer = subject.demo.reservation.post(
        '/leases',
        json={
            'name': 'end',
            'start_date': 'now',
            'duration': '1h',
            'reservations': [
                {
                    'resource_type': 'physical:host',
                    'min': len(names),
                    'max': len(names),
                    'hypervisor_properties': _any_of(names),
                    'resource_properties': '',
                }
            ],
        },
    )
    made = body(answer, 201)['lease']
    lease, reservation = made['id'], made['reservations'][0]['id']
    subject.wait([lease], 'ACTIVE')

    servers = _servers(subject, reservation, count)
    began = time.monotonic()
    subject.each_client(_delete, servers)
    polls.until(
        'no server',
        lambda: subject.servers(),
        lambda left: left == 0,
        600,
    )
    nova = time.monotonic() - began

    _servers(subject, reservation, count)
    began = time.monotonic()
    body(
        subject.demo.reservation.put(
            f'/leases/{lease}', json={'end_date': 'now'}
        )
    )
    subject.wait([lease], 'TERMINATED', 600)
    ours = time.monotonic() - began
    subject.delete([lease])
    return nova, ours


def _any_of(hosts: list[str]) -> str:
    """Return the requirement that a host is one of these."""
    conditions = [
        f'["==", "$hypervisor_hostname", "{host}"]' for host in hosts
    ]
    return f'["or", {", ".join(conditions)}]'


def _servers(subject: su.Subject, reservation: str, count: int) -> list[str]:
    """Build servers in a reservation; return their ids when they run."""
    body(
        subject.demo.boot(
            'bench', reservation, min_count=count, max_count=count
        ),
        202,
    )
    servers: list[dict[str, str]] = polls.until(
        f'{count} servers',
        lambda: body(subject.demo.compute.get('/servers/detail'))['servers'],
        lambda seen: (
            len(seen) == count
            and all(each['status'] != 'BUILD' for each in seen)
        ),
        600,
    )
    story.expect('status', {'ACTIVE'}, {each['status'] for each in servers})
    return [each['id'] for each in servers]


def _delete(who: person.Person, server: str) -> None:
    body(who.compute.delete(f'/servers/{server}'), 204)

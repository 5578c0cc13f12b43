# SPDX-License-Identifier: Apache-2.0
"""The share of requested host-hours that is accepted.

A simulation without a cloud: requests arrive as a Poisson process, and each is
decided at once, by the product's planner or by another rule. All rules get the
same requests.
"""

from collections import Counter
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import random

from nova_reservations.objects import demand
from nova_reservations.objects import host
from nova_reservations.objects import interval
from nova_reservations.objects import search
from nova_reservations.planner import offers
from nova_reservations.planner import plan
from nova_reservations.planner import replanning
from nova_reservations.planner import timelines
from sandbox.bench import subject as su
from sandbox.bench.report import Figure
from sandbox.bench.report import Row

HOSTS = 40
LOADS = (0.7, 0.9, 1.1)
_SEEDS = 6
_REQUESTS = 1500
_LIMIT = 1000
"""The default of replan_limit."""

_HALF = 0.5

_LENGTHS = (1, 2, 4, 8, 24, 72, 168)
"""The lengths of leases in hours, which are equally frequent."""

_SIZES = (1, 1, 1, 1, 2, 2, 4, 8)

_LEAD = 72
"""The mean number of hours from the request to the start of a lease."""

_EPOCH = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)


@dataclasses.dataclass(frozen=True)
class Request:
    """:ivar kind: the kind of host; None: any.

    :ivar arrival: the time of the request in hours, as start and end are.
    """

    number: int
    arrival: float
    start: int
    end: int
    size: int
    kind: str | None

    @property
    def host_hours(self) -> int:
        return self.size * (self.end - self.start)


Kinds = Mapping[str, Collection[int]]
"""Name -> the hosts of a kind."""

Rule = Callable[[Kinds], Callable[[Request], bool]]
"""Makes an empty cloud with these hosts; returns a function that decides on
one request after the other."""

EQUAL: Kinds = {'equal': range(HOSTS)}
MIXED: Kinds = {
    'cpu': range(24),
    'gpu': range(24, 34),
    'large': range(34, HOSTS),
}


def requests(load: float, kinds: Kinds, seed: int) -> Iterator[Request]:
    """Yield requests.

    If there are several kinds, each is requested in proportion to the number
    of its hosts, and every second request is for any kind.

    :param load: requested host-hours, relative to those of all hosts
    """
    # The same requests in each run.
    chance = random.Random(seed)  # noqa: S311
    mean = sum(_LENGTHS) / len(_LENGTHS) * sum(_SIZES) / len(_SIZES)
    names = [name for name, its in kinds.items() for _ in its]
    now = 0.0
    for number in range(_REQUESTS):
        now += chance.expovariate(load * HOSTS / mean)
        start = int(now + chance.expovariate(1 / _LEAD)) + 1
        kind = chance.choice(names)
        size = chance.choice(_SIZES)
        anything = len(kinds) == 1 or chance.random() < _HALF
        yield Request(
            number,
            now,
            start,
            start + chance.choice(_LENGTHS),
            size if anything else min(size, len(kinds[kind])),
            None if anything else kind,
        )


class _Cloud:
    """Hosts, and the requests to which they are promised."""

    def __init__(self, kinds: Kinds) -> None:
        self.kinds: Mapping[str | None, frozenset[int]] = {
            **{name: frozenset(its) for name, its in kinds.items()},
            None: frozenset(key for its in kinds.values() for key in its),
        }
        self.held: dict[int, list[timelines.Promise]] = {
            key: [] for key in self.kinds[None]
        }

    def free(self, request: Request) -> list[int]:
        start, end = _hour(request.start), _hour(request.end)
        return [
            key
            for key in sorted(self.kinds[request.kind])
            if all(
                each.end <= start or end <= each.start
                for each in self.held[key]
            )
        ]

    def give(self, request: Request, hosts: Collection[int]) -> None:
        for key in hosts:
            self.held[key].append(
                timelines.Promise(
                    str(request.number),
                    _hour(request.start),
                    _hour(request.end),
                    self.kinds[request.kind],
                )
            )

    def forget(self, now: datetime.datetime) -> None:
        """Forget leases that are over."""
        for key, its in self.held.items():
            self.held[key] = [each for each in its if each.end > now]


def first_fit(kinds: Kinds) -> Callable[[Request], bool]:
    cloud = _Cloud(kinds)

    def decide(request: Request) -> bool:
        cloud.forget(_hour(request.arrival))
        free = cloud.free(request)
        if len(free) < request.size:
            return False
        cloud.give(request, free[: request.size])
        return True

    return decide


def best_fit(kinds: Kinds) -> Callable[[Request], bool]:
    cloud = _Cloud(kinds)

    def decide(request: Request) -> bool:
        cloud.forget(_hour(request.arrival))
        return _fits(cloud, request)

    return decide


def replanned(kinds: Kinds) -> Callable[[Request], bool]:
    cloud = _Cloud(kinds)

    def decide(request: Request) -> bool:
        cloud.forget(_hour(request.arrival))
        return _fits(cloud, request) or _room_is_made(cloud, request)

    return decide


def peak(kinds: Kinds) -> Callable[[Request], bool]:
    """Accept a request if in each of its hours there are enough hosts, of its
    kind and in total. This ignores which hosts are promised to whom, so that
    no rule can accept a request that this one refuses in the same state."""
    sizes = {name: len(its) for name, its in kinds.items()}
    of_kind: dict[str | None, Counter[int]] = {
        name: Counter() for name in kinds
    }
    of_all: Counter[int] = Counter()

    def decide(request: Request) -> bool:
        hours = range(request.start, request.end)
        size = request.size
        its = of_kind.get(request.kind)
        if any(of_all[hour] + size > HOSTS for hour in hours) or (
            its is not None
            and request.kind is not None
            and any(its[hour] + size > sizes[request.kind] for hour in hours)
        ):
            return False
        of_all.update(dict.fromkeys(hours, size))
        if its is not None:
            its.update(dict.fromkeys(hours, size))
        return True

    return decide


def _fits(cloud: _Cloud, request: Request) -> bool:
    """Book the request like the product does, if there is room."""
    now = _hour(request.arrival)
    window = interval.Interval(_hour(request.start), _hour(request.end))
    wanted = search.Wanted(
        str(request.number),
        demand.Demand('host', request.size, request.size),
        window,
    )
    found = plan.assign(
        [
            offers.Ask(
                wanted,
                [
                    _offer(key, cloud.held[key], window, now)
                    for key in cloud.free(request)
                ],
            )
        ],
        str(request.number),
    )
    if not isinstance(found, plan.Plan):
        return False
    cloud.give(request, found.slots[wanted.reservation_id])
    return True


def _offer(
    key: int,
    held: Sequence[timelines.Promise],
    window: interval.Interval,
    now: datetime.datetime,
) -> search.Offer:
    since = max(
        (each.end for each in held if each.end <= window.start), default=now
    )
    until = min(
        (each.start for each in held if each.start >= window.end),
        default=None,
    )
    return search.Offer(
        host.Resource(key, 'host', str(key), str(key)),
        generation=0,
        gap_before=window.start - max(since, now),
        gap_after=until - window.end if until else None,
    )


def _room_is_made(cloud: _Cloud, request: Request) -> bool:
    now = _hour(request.arrival)
    room = replanning.make_room(
        {
            key: [
                each
                if each.start > now
                else dataclasses.replace(each, within=None)
                for each in its
            ]
            for key, its in cloud.held.items()
        },
        [
            replanning.Newcomer(
                str(request.number),
                _hour(request.start),
                _hour(request.end),
                request.size,
                cloud.kinds[request.kind],
            )
        ],
        _LIMIT,
    )
    if room is None:
        return False
    moving = []
    for move in room.moves:
        [promise] = [
            each
            for each in cloud.held[move.source]
            if each.reservation_id == move.reservation_id
        ]
        cloud.held[move.source].remove(promise)
        moving.append((move.target, promise))
    for target, promise in moving:
        cloud.held[target].append(promise)
    cloud.give(request, room.resources[str(request.number)])
    return True


RULES: Mapping[str, Rule] = {
    'first fit': first_fit,
    'best fit': best_fit,
    'ours': replanned,
    'peak': peak,
}


def accepted(load: float, kinds: Kinds) -> dict[str, float]:
    """Return rule -> the percentage of host-hours that it accepts."""
    granted: Counter[str] = Counter()
    asked = 0
    for seed in range(_SEEDS):
        arrivals = list(requests(load, kinds, seed))
        asked += sum(each.host_hours for each in arrivals)
        for name, rule in RULES.items():
            decide = rule(kinds)
            granted[name] += sum(
                each.host_hours for each in arrivals if decide(each)
            )
    return {name: 100 * granted[name] / asked for name in RULES}


def acceptance(subject: su.Subject) -> Row:
    """Host-hours that are accepted, by first fit, best fit, ours, the peak."""
    del subject
    figures = []
    for kinds, what in ((EQUAL, 'equal hosts'), (MIXED, 'three kinds')):
        for load in LOADS:
            found = accepted(load, kinds)
            ours, best, most = found['ours'], found['best fit'], found['peak']
            limit = most if kinds is EQUAL else best + _HALF * (most - best)
            for name in ('first fit', 'best fit', 'peak'):
                figures.append(
                    Figure(f'{what}, load {load}: {name}', found[name], '%')
                )
            figures.append(
                Figure(
                    f'{what}, load {load}: ours',
                    ours,
                    '%',
                    floor=best,
                    limit=limit,
                    at_least=True,
                )
            )
    return Row(figures)


def _hour(number: float) -> datetime.datetime:
    return _EPOCH + datetime.timedelta(hours=number)

# SPDX-License-Identifier: Apache-2.0
"""Calendars that are read from the API.

All requests use the viewer's token, so a calendar shows nothing that the
viewer may not see.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import datetime
from typing import Any

from keystoneauth1 import adapter

from osc_nova_reservations import api
from osc_nova_reservations import reserved
from osc_nova_reservations.calendar import model

_WAITING = frozenset({'CREATING', 'IN_PROGRESS'})


def of_leases(
    client: adapter.Adapter, window: model.Window, now: datetime.datetime
) -> model.Calendar:
    """Return a calendar of the leases of the viewer's project. Those that are
    over have no rows."""
    found = leases_in(client, window, client.get_project_id())
    leases = tuple(_lease(each) for each in found)
    rows = (
        model.Row(each.name, (_own(each),))
        for each in leases
        if not each.has_ended
    )
    return model.Calendar('Leases', 'Lease', window, now, tuple(rows), leases)


def of_hosts(
    client: adapter.Adapter, window: model.Window, now: datetime.datetime
) -> model.Calendar:
    """Return a calendar of all hosts.

    If the viewer may see the names of hosts, and which lease has which host,
    the calendar shows them. Otherwise the hosts are numbered, except those
    that leases of the project have now.
    """
    return _of_all(client, window, now, _HOSTS)


def of_resources(
    client: adapter.Adapter,
    window: model.Window,
    now: datetime.datetime,
    resource_type: str,
) -> model.Calendar:
    """Return such a calendar of all resources of a type."""
    query = {'resource_type': resource_type}
    return _of_all(
        client, window, now, _Kind('resource', '/resources', 'name', query)
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Kind:
    """The kind of the rows.

    :ivar word: the word for one resource; with an s, the key of their list.
    :ivar name: the key of the name of a resource.
    :ivar query: parameters of the requests, beside the window.
    """

    word: str
    path: str
    name: str
    query: Mapping[str, str]


_HOSTS = _Kind('host', '/os-hosts', 'service_name', {})


def _of_all(
    client: adapter.Adapter,
    window: model.Window,
    now: datetime.datetime,
    kind: _Kind,
) -> model.Calendar:
    project_id = client.get_project_id()
    try:
        found = api.request(
            client,
            'GET',
            f'{kind.path}/allocations',
            params={**kind.query, **_within(window)},
        )['allocations']
    except api.Forbidden:
        leases = leases_in(client, window, project_id)
        own = _by_id(leases)
        rows = tuple(
            _unnamed(client, window, own, kind, _Whole.of(leases, now))
        )
    else:
        leases = leases_in(client, window, None)
        names = {each['id']: _plain(each['name']) for each in leases}
        own = _by_id(
            each for each in leases if project_id in (None, each['project_id'])
        )
        rows = tuple(
            model.Row(
                _plain(each[kind.name]),
                (*_allocations(each, names, own), *_holds(each)),
            )
            for each in found
        )
    shown = {bar.lease_id for row in rows for bar in row.bars}
    return model.Calendar(
        f'{kind.word.capitalize()}s',
        kind.word.capitalize(),
        window,
        now,
        rows,
        tuple(lease for lease in own.values() if lease.id in shown),
    )


def _by_id(leases: Any) -> dict[str, model.Lease]:
    return {each['id']: _lease(each) for each in leases}


def leases_in(
    client: adapter.Adapter, window: model.Window, project_id: str | None
) -> list[dict[str, Any]]:
    """Return leases that overlap the window, in the order of their starts.

    :param project_id: None: of all projects that the viewer may see
    """
    query: dict[str, Any] = {
        'start_before': window.end.isoformat(),
        'end_after': window.start.isoformat(),
        'sort_key': 'start_date',
    }
    if project_id is not None:
        query['project_id'] = project_id
    return list(api.request(client, 'GET', '/leases', params=query)['leases'])


@dataclasses.dataclass(frozen=True, slots=True)
class _Whole:
    """The viewer's reservations of whole hosts.

    :ivar now: the time of which hosts are named.
    """

    reservation_ids: frozenset[str]
    now: datetime.datetime

    @classmethod
    def of(cls, leases: Iterable[Any], now: datetime.datetime) -> '_Whole':
        ids = (
            each['id']
            for lease in leases
            for each in lease['reservations']
            if each.get('resource_type') == 'physical:host'
        )
        return cls(frozenset(ids), now)

    def has(self, window: Mapping[str, Any]) -> bool:
        start, end = date_of(window['start_date']), date_of(window['end_date'])
        return (
            window.get('reservation_id') in self.reservation_ids
            and start <= self.now < end
        )


def _unnamed(
    client: adapter.Adapter,
    window: model.Window,
    own: Mapping[str, model.Lease],
    kind: _Kind,
    whole: _Whole,
) -> Iterator[model.Row]:
    """Yield the rows of resources whose names the viewer may not know, except
    of those that the viewer's leases have."""
    promised, shown = _pages(client, window, kind)
    if promised:
        yield model.Row(
            'promised',
            tuple(_promised(each, own, kind) for each in promised),
        )
    names = _names(client, shown, whole)
    for row in shown:
        number = row['number']
        yield model.Row(
            names.get(number) or f'{kind.word} {number}',
            tuple(_window(each, own) for each in row['windows']),
        )


def _pages(
    client: adapter.Adapter, window: model.Window, kind: _Kind
) -> tuple[list[Any], list[Any]]:
    """Return what is promised, and the rows of all pages."""
    query = {**kind.query, **_within(window)}
    rows = f'{kind.word}s'
    promised: list[Any] = []
    found: list[Any] = []
    while True:
        path = f'{kind.path}/calendar'
        page = api.request(client, 'GET', path, params=query)
        promised += page.get('promised') or ()
        found += page[rows]
        if not page.get(f'{rows}_links') or not page[rows]:
            return promised, found
        query['marker'] = str(page[rows][-1]['number'])


def _names(
    client: adapter.Adapter, rows: Iterable[Mapping[str, Any]], whole: _Whole
) -> dict[int, str]:
    """Return number of a row -> name, of the hosts that leases of the project
    have now.

    The API shows the hosts of a lease by name, and the rows by number, both
    in the order of their ids. If they are not equally many, a host came or
    went between two requests, and which row is which is not known.
    """
    numbers: dict[str, list[int]] = {}
    lease_ids = set()
    for row in rows:
        for each in row['windows']:
            if whole.has(each):
                lease_ids.add(each['lease_id'])
                its = numbers.setdefault(each['reservation_id'], [])
                its.append(row['number'])
    found: dict[int, str] = {}
    for lease_id in sorted(lease_ids):
        for reservation_id, hosts in _hosts(client, lease_id):
            its = numbers.get(reservation_id, [])
            if len(hosts) == len(its):
                found.update(zip(its, hosts, strict=True))
    return found


def _hosts(
    client: adapter.Adapter, lease_id: str
) -> Iterator[tuple[str, list[str]]]:
    """Yield reservations of a lease, with the names of their hosts in the
    order of the ids, as far as the viewer may see them."""
    try:
        lease = api.request(client, 'GET', f'/leases/{lease_id}')['lease']
    except api.Forbidden:
        return
    for each in lease['reservations']:
        hosts = each.get('hosts', ())
        yield (
            each['id'],
            [
                _plain(host['service_name'])
                for host in sorted(hosts, key=lambda host: int(host['id']))
            ],
        )


def _window(
    shown: Mapping[str, Any], own: Mapping[str, model.Lease]
) -> model.Bar:
    kind = model.Kind(shown['kind'])
    lease = own.get(shown.get('lease_id', ''))
    name = lease.name if lease else str(kind)
    return model.Bar(
        kind,
        date_of(shown['start_date']),
        date_of(shown['end_date']),
        name,
        lease.id if lease else None,
    )


def _promised(
    shown: Mapping[str, Any], own: Mapping[str, model.Lease], kind: _Kind
) -> model.Bar:
    """Return the bar of resources that are promised, but not chosen yet."""
    bar = _window(shown, own)
    number = reserved.counted(shown[f'{kind.word}s'], kind.word)
    return dataclasses.replace(bar, name=f'{bar.name}: {number}')


def _allocations(
    shown: Mapping[str, Any],
    names: Mapping[str, str],
    own: Mapping[str, model.Lease],
) -> Iterator[model.Bar]:
    """Yield the bars of leases on a host."""
    for each in shown['reservations']:
        lease_id = each['lease_id']
        is_own = lease_id in own
        yield model.Bar(
            model.Kind.OWN if is_own else model.Kind.TAKEN,
            date_of(each['start_date']),
            date_of(each['end_date']),
            # A lease that is missing from the list was created or deleted
            # between the two requests.
            names.get(lease_id, str(model.Kind.TAKEN)),
            lease_id if is_own else None,
        )


def _holds(shown: Mapping[str, Any]) -> Iterator[model.Bar]:
    """Yield the bars of the holds of a host."""
    for each in shown['holds']:
        start, end = each['start_date'], each['end_date']
        yield model.Bar(
            model.Kind.HELD,
            date_of(start) if start else model.FIRST,
            date_of(end) if end else model.LAST,
            _plain(f'held: {each["reason"]}'),
        )


def _lease(shown: Mapping[str, Any]) -> model.Lease:
    return model.Lease(
        shown['id'],
        _plain(shown['name']),
        shown['status'],
        _plain(reserved.of_lease(dict(shown))),
        date_of(shown['start_date']),
        date_of(shown['end_date']),
    )


def _own(lease: model.Lease) -> model.Bar:
    waits = lease.status in _WAITING
    return model.Bar(
        model.Kind.WAITS if waits else model.Kind.OWN,
        lease.start,
        lease.end,
        # The row shows the name already.
        lease.reserved or lease.name,
        lease.id,
    )


def _within(window: model.Window) -> dict[str, str]:
    return {
        'start': window.start.isoformat(),
        'end': window.end.isoformat(),
    }


def date_of(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC)


def _plain(text: str) -> str:
    """Return the text with U+FFFD for each character that is not printable.

    Such characters could control the terminal, reverse the direction of the
    text beside them, or be impossible to encode.
    """
    return ''.join(sign if sign.isprintable() else '\ufffd' for sign in text)

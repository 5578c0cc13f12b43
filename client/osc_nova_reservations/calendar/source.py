# SPDX-License-Identifier: Apache-2.0
"""Calendars that are read from the API.

All requests use the viewer's token, so a calendar shows nothing that the
viewer may not see.
"""

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
_CURRENT = (
    *sorted(_WAITING),
    *('PENDING', 'STARTING', 'ACTIVE', 'TERMINATING', 'DELETING', 'ERROR'),
)
"""Statuses of leases that are not over."""


def of_leases(
    client: adapter.Adapter, window: model.Window, now: datetime.datetime
) -> model.Calendar:
    """Return a calendar of the leases of the viewer's project."""
    found = _leases(client, window, client.get_project_id(), _CURRENT)
    leases = tuple(_lease(each) for each in found)
    return model.Calendar(
        'Leases',
        'Lease',
        window,
        now,
        tuple(model.Row(each.name, (_own(each),)) for each in leases),
        leases,
    )


def of_hosts(
    client: adapter.Adapter, window: model.Window, now: datetime.datetime
) -> model.Calendar:
    """Return a calendar of all hosts.

    If the viewer may see the names of hosts, and which lease has which host,
    the calendar shows them. Otherwise the hosts are numbered.
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
        own = _own_leases(client, window, project_id)
        rows = tuple(_unnamed(client, window, own, kind))
    else:
        leases = _leases(client, window, None, ())
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


def _own_leases(
    client: adapter.Adapter, window: model.Window, project_id: str | None
) -> dict[str, model.Lease]:
    return _by_id(_leases(client, window, project_id, ()))


def _by_id(leases: Any) -> dict[str, model.Lease]:
    return {each['id']: _lease(each) for each in leases}


def _leases(
    client: adapter.Adapter,
    window: model.Window,
    project_id: str | None,
    statuses: tuple[str, ...],
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
    if statuses:
        query['status'] = statuses
    return list(api.request(client, 'GET', '/leases', params=query)['leases'])


def _unnamed(
    client: adapter.Adapter,
    window: model.Window,
    own: Mapping[str, model.Lease],
    kind: _Kind,
) -> Iterator[model.Row]:
    """Yield the rows of resources whose names the viewer may not know."""
    query = {**kind.query, **_within(window)}
    rows = f'{kind.word}s'
    while True:
        path = f'{kind.path}/calendar'
        page = api.request(client, 'GET', path, params=query)
        if page.get('promised'):
            yield model.Row(
                'promised',
                tuple(_promised(each, own, kind) for each in page['promised']),
            )
        for row in page[rows]:
            bars = (_window(each, own) for each in row['windows'])
            yield model.Row(f'{kind.word} {row["number"]}', tuple(bars))
        if not page.get(f'{rows}_links') or not page[rows]:
            return
        query['marker'] = str(page[rows][-1]['number'])


def _window(
    shown: Mapping[str, Any], own: Mapping[str, model.Lease]
) -> model.Bar:
    kind = model.Kind(shown['kind'])
    lease = own.get(shown.get('lease_id', ''))
    name = lease.name if lease else str(kind)
    return model.Bar(
        kind,
        _date(shown['start_date']),
        _date(shown['end_date']),
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
            _date(each['start_date']),
            _date(each['end_date']),
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
            _date(start) if start else model.FIRST,
            _date(end) if end else model.LAST,
            _plain(f'held: {each["reason"]}'),
        )


def _lease(shown: Mapping[str, Any]) -> model.Lease:
    return model.Lease(
        shown['id'],
        _plain(shown['name']),
        shown['status'],
        _plain(reserved.of_lease(dict(shown))),
        _date(shown['start_date']),
        _date(shown['end_date']),
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


def _date(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC)


def _plain(text: str) -> str:
    """Return the text with U+FFFD for each character that is not printable.

    Such characters could control the terminal, reverse the direction of the
    text beside them, or be impossible to encode.
    """
    return ''.join(sign if sign.isprintable() else '\ufffd' for sign in text)

# SPDX-License-Identifier: Apache-2.0
"""Facts of hosts that Nova's filters judge, by their values.

Hosts that are alike share a row of each value, so that what Nova judges is
few however many hosts there are. Values that no host has any more stay, and
are not judged.

Every function joins the caller's transaction.
"""

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Iterable
import hashlib

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations.db import models
from nova_reservations.db import pages
from nova_reservations.db import writes

FACT = models.table(models.Fact)
HOST_FACT = models.table(models.HostFact)


def assign(
    session: orm.Session, resource_id: int, specs: Iterable[tuple[str, str]]
) -> None:
    """Write the facts of a host, in place of those that it had.

    :param specs: pairs of a name and a value
    :raises: Conflict, at the commit at the latest, if another writer has just
        recorded one of these values
    """
    wanted = {(name, _digest(value)): value for name, value in specs}
    query = sa.select(HOST_FACT.c.fact_id).where(
        HOST_FACT.c.resource_id == resource_id
    )
    had = set(session.scalars(query))
    has = _ids(session, wanted)
    for key in sorted(wanted.keys() - has.keys()):
        name, digest = key
        has[key] = session.execute(
            sa.insert(FACT).values(name=name, digest=digest, value=wanted[key])
        ).inserted_primary_key[0]  # type: ignore[attr-defined]
    now = set(has.values())
    if had - now:
        session.execute(
            sa.delete(HOST_FACT).where(
                HOST_FACT.c.resource_id == resource_id,
                HOST_FACT.c.fact_id.in_(sorted(had - now)),
            )
        )
    new = [
        {'resource_id': resource_id, 'fact_id': each}
        for each in sorted(now - had)
    ]
    writes.insert(session, HOST_FACT, new)


def _ids(
    session: orm.Session, wanted: Collection[tuple[str, str]]
) -> dict[tuple[str, str], int]:
    if not wanted:
        return {}
    rows = session.execute(
        sa.select(FACT.c.name, FACT.c.digest, FACT.c.id).where(
            FACT.c.name.in_(sorted({name for name, _ in wanted})),
            FACT.c.digest.in_(sorted({digest for _, digest in wanted})),
        )
    )
    # MySQL takes blanks at the end of a name for none.
    return {
        (row.name, row.digest): row.id
        for row in rows
        if (row.name, row.digest) in wanted
    }


def _digest(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()


def of(
    session: orm.Session, resource_ids: Collection[int]
) -> dict[int, tuple[tuple[str, str], ...]]:
    """Return resource id -> its pairs of a name and a value, sorted."""
    found: dict[int, list[tuple[str, str]]] = defaultdict(list)
    for row in session.execute(
        sa.select(HOST_FACT.c.resource_id, FACT.c.name, FACT.c.value)
        .join(FACT, FACT.c.id == HOST_FACT.c.fact_id)
        .where(HOST_FACT.c.resource_id.in_(resource_ids))
    ):
        found[row.resource_id].append((row.name, row.value))
    return {key: tuple(sorted(pairs)) for key, pairs in found.items()}


def values(session: orm.Session, name: str, limit: int) -> dict[int, str]:
    """Return id -> value, of at most so many values that hosts have."""
    rows = session.execute(
        sa.select(FACT.c.id, FACT.c.name, FACT.c.value)
        .where(
            FACT.c.name == name,
            sa.exists().where(HOST_FACT.c.fact_id == FACT.c.id),
        )
        .limit(limit)
    )
    return {row.id: row.value for row in rows if row.name == name}


def delete(session: orm.Session, resource_id: int) -> None:
    """Delete the facts of a host."""
    pages.delete(session, HOST_FACT.c.resource_id, [resource_id])

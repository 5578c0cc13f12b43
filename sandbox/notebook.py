# SPDX-License-Identifier: Apache-2.0
"""The notebook of a user of Chameleon, with python-chi.

Python runs it in .venv-chameleon, which has nothing of the project. Each cell
prints what python-chi saw, as a line of JSON.
"""

from collections.abc import Callable
import contextlib
import datetime
import io
import json
import logging
import os
import sys
from typing import Any

from chi import clients
from chi import exception
from chi import lease
from chi import server

#: There is one node of it.
NODE_TYPE = os.environ['NODE_TYPE']
#: Names of things in Nova.
IMAGE = os.environ['IMAGE']
FLAVOR = os.environ['FLAVOR']
KEY = os.environ['KEY']

HOUR = datetime.timedelta(hours=1)


def main() -> None:
    mine = lease.Lease('chi', duration=HOUR)
    for cell in (
        _look,
        lambda: _submit(mine),
        lambda: _boot(mine),
        _find,
        _ask_for_too_many,
        lambda: _delete(mine),
    ):
        _run(cell)


def _run(cell: Callable[[], Any]) -> None:
    # The library prints, too.
    with contextlib.redirect_stdout(sys.stderr):
        seen = cell()
    print(json.dumps(seen), flush=True)


def _look() -> Any:
    """The types of nodes, as a member of a project sees them."""
    return [each.get('node_type') for each in clients.blazar().host.list()]


def _submit(mine: Any) -> Any:
    """A node and two servers of a flavor, from now on."""
    mine.add_node_reservation(amount=1, node_type=NODE_TYPE)
    mine.add_flavor_reservation(name=FLAVOR, amount=2)
    mine.submit(wait_for_active=True, wait_timeout=60)
    return {
        'status': mine.status,
        'created': str(mine.created_at),
        'flavors': [each.id for each in mine.get_reserved_flavors()],
        'reserved': [each['id'] for each in mine.flavor_reservations],
    }


def _boot(mine: Any) -> Any:
    """A server on the node, and one of the reserved flavor."""
    (flavor,) = mine.get_reserved_flavors()
    (node,) = mine.node_reservations
    wanted = {'image_name': IMAGE, 'key_name': KEY}
    there = [
        server.Server('on a node', node['id'], flavor_name=FLAVOR, **wanted),
        server.Server('of a flavor', flavor_name=flavor.name, **wanted),
    ]
    for each in there:
        each.submit(wait_for_active=False, show=None)
    for each in there:
        each.wait(timeout=60)
    return {each.name: each.status for each in there}


def _find() -> Any:
    """The lease by its name, and in the list."""
    found = lease.get_lease('chi')
    return {
        'found': found.status,
        'listed': [each.name for each in lease.list_leases()],
    }


def _ask_for_too_many() -> Any:
    """The reason that the library logs, and its exception."""
    logged = io.StringIO()
    logging.getLogger('chi').addHandler(logging.StreamHandler(logged))
    more = lease.Lease('more', duration=HOUR)
    more.add_node_reservation(amount=9, node_type=NODE_TYPE)
    try:
        more.submit(wait_for_active=False)
    except exception.ResourceError as error:
        return [str(error), *logged.getvalue().splitlines()]
    return []


def _delete(mine: Any) -> Any:
    for name in ('on a node', 'of a flavor'):
        server.get_server(name).delete()
    mine.delete()
    return mine.status


if __name__ == '__main__':
    main()

# SPDX-License-Identifier: Apache-2.0
"""The database of reservations, and how connections to it are kept; by the
names and with the defaults that oslo.db has for those to Nova's."""

from oslo_config import cfg

CONNECTION = [
    cfg.StrOpt(
        'connection',
        secret=True,
        help="""
The database of reservations, as an SQLAlchemy URL.

Its tables have names and a version table of their own, so that they can
stand beside Nova's.

Possible values:

* An SQLAlchemy URL of MariaDB/MySQL, PostgreSQL or SQLite
* Unset: the database that ``[api_database] connection`` names

Related options:

* ``[api_database] connection``
""",
    ),
]

POOL = [
    cfg.IntOpt(
        'connection_recycle_time',
        default=3600,
        min=-1,
        help="""
After how many seconds a connection to the database is replaced when it is
used next.

Possible values:

* Seconds; -1: never

Related options:

* ``[reservations] connection``: if it is unset, ``[api_database]
  connection_recycle_time`` counts
""",
    ),
    cfg.IntOpt(
        'max_pool_size',
        default=5,
        min=0,
        help="""
Connections to the database that a process keeps open.

Possible values:

* A number; 0: no limit

Related options:

* ``[reservations] connection``: if it is unset, ``[api_database]
  max_pool_size`` counts
""",
    ),
    cfg.IntOpt(
        'max_overflow',
        default=50,
        min=-1,
        help="""
Connections to the database that a process opens beyond those that it keeps,
and closes after use. A request for which there is none in time is answered
with 503.

Possible values:

* A number; -1: no limit

Related options:

* ``[reservations] connection``: if it is unset, ``[api_database]
  max_overflow`` counts
""",
    ),
    cfg.IntOpt(
        'pool_timeout',
        min=0,
        help="""
For how many seconds a connection to the database is waited for where all are
in use.

Possible values:

* Seconds
* Unset: SQLAlchemy's own default, 30

Related options:

* ``[reservations] connection``: if it is unset, ``[api_database]
  pool_timeout`` counts
""",
    ),
    cfg.IntOpt(
        'mysql_wsrep_sync_wait',
        min=0,
        help="""
What Galera waits for before it answers, as its variable ``wsrep_sync_wait``:
so that a process sees what others have written before, at whichever node.

Possible values:

* A number from 0 to 15, a sum of what is documented with that variable. Where
  reads do not wait, only those do by which it is decided where servers may
  land, and whose a lease is
* Unset: all transactions wait for the node that they are at

Related options:

* ``[reservations] connection``: if it is unset, ``[api_database]
  mysql_wsrep_sync_wait`` counts
""",
    ),
]

OPTS = CONNECTION + POOL

# SPDX-License-Identifier: Apache-2.0
"""Leases of all types: their resources, their dates, and lists of them."""

from oslo_config import cfg

OPTS = [
    cfg.ListOpt(
        'resource_types',
        default=['physical:host'],
        help="""
The types of resource that can be leased, by the names of their entry points
in ``nova_reservations.resources``.

Possible values:

* Names of installed entry points; ``physical:host``, ``virtual:instance``,
  ``flavor:instance``, ``virtual:server``, ``virtual:floatingip``,
  ``virtual:network`` and ``network``, which is the same, ``virtual:volume``,
  ``physical:storage`` and ``virtual:stack`` come with the package. A name that
  is not installed stops the process with one line that says so.
  ``virtual:stack`` needs ``flavor:instance``, and promises the volumes and
  addresses of a stack where ``virtual:volume`` and ``virtual:floatingip`` are
  here too
""",
    ),
    cfg.StrOpt(
        'region_name',
        default='RegionOne',
        help="""
The region that this Nova is in.

A requirement on ``region`` is compared with it; another region is refused
with 400.

Leases that were asked for by another name than it has now end as planned, but
what fails of them is not replaced, and they can not be changed.

Possible values:

* The region's name in keystone's catalog
""",
    ),
    cfg.IntOpt(
        'cleaning_time',
        min=0,
        default=0,
        help="""
Minutes that a host is kept free before and after each lease.

Possible values:

* Any number of minutes from 0
""",
    ),
    cfg.IntOpt(
        'replan_limit',
        min=0,
        max=100000,
        default=1000,
        help="""
How far the search goes that moves promises of hosts, so that a lease fits for
which there is no room otherwise.

A lease that has not begun is promised hosts that are as good as it asked for;
which, is decided anew until a worker starts it. More finds room more often
where hosts differ, and costs more time for what is refused in the end.

Possible values:

* Any number of exchanges that are tried for a request
* 0: promises never move
""",
    ),
    cfg.IntOpt(
        'prepare_ahead',
        min=0,
        max=1440,
        default=10,
        help="""
Minutes before the start of a lease at which its hosts are made ready in Nova
and placement, so that the start itself is one write.

No server gets in by it: that begins with the start of the lease. A lease of
slots that begins within this time when it is asked for has its flavor, to
which its project has access, and its server group when the request is
answered.

Possible values:

* 0: nothing is prepared; starts of many hosts take longer
* Any number of minutes up to a day
""",
    ),
    cfg.IntOpt(
        'api_threads',
        min=0,
        max=10000,
        default=0,
        help="""
Threads of each process of nova-api.

A request that names a lease whose start is due waits up to 3 seconds for it,
and so do a change of a lease that is just giving hosts or slots back, and the
removal of a host or resource whose last lease is just ending, in at most a
quarter of these threads; others are refused at once with 409. With fewer than
4 threads none waits.

Possible values:

* 0: as many as uWSGI or mod_wsgi say; with other servers no request waits
* The number that another server is configured with, such as ``--threads`` of
  gunicorn
""",
    ),
    cfg.IntOpt(
        'list_history',
        min=0,
        max=36500,
        default=30,
        help="""
Days for which a lease that is over is still in lists of all leases.

Nothing is deleted: a list that asks for a status, a time or a name, or that
is read by pages with ``limit``, has older ones too.

Possible values:

* 0: only leases that are not over
* Any number of days
""",
    ),
    cfg.IntOpt(
        'demand_history',
        min=0,
        max=36500,
        default=400,
        help="""
Days for which it is remembered what projects have asked for and were refused
for lack of room: ``GET /demand``, ``nova-reservations-manage demand replay``.

Possible values:

* 0: until the next time at which old ones are forgotten
* Any number of days

Related options:

* ``[reservations] host_refresh_interval``: how often old ones are forgotten
""",
    ),
]

# SPDX-License-Identifier: Apache-2.0
from oslo_config import cfg
from oslo_config import types

from nova_reservations.conf import database

GROUP = cfg.OptGroup(
    'reservations',
    title='Advance reservations',
    help="""
Leases of hosts for a window of time, kept by Nova's own processes.
""",
)

OPTS = [
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
    *database.OPTS,
    cfg.ListOpt(
        'resource_types',
        default=['physical:host'],
        help="""
The types of resource that can be leased, by the names of their entry points
in ``nova_reservations.resources``.

Possible values:

* Names of installed entry points; ``physical:host``, ``virtual:instance`` and
  ``flavor:instance`` come with the package. A name that is not installed
  stops the process with one line that says so
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
        'prepare_ahead',
        min=0,
        max=1440,
        default=10,
        help="""
Minutes before the start of a lease at which its hosts are made ready in Nova
and placement, so that the start itself is one write.

Nobody gets access by it: that begins with the start of the lease.

Possible values:

* 0: nothing is prepared; starts of many hosts take longer
* Any number of minutes up to a day
""",
    ),
    cfg.IntOpt(
        'minutes_before_end_lease',
        min=0,
        default=60,
        help="""
Minutes before its end at which a lease's ``before_end_lease`` event is due,
when the request does not name a ``before_end_date``.

Possible values:

* 0: no such event unless asked for
* Any number of minutes; for a lease that is shorter, its start
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
    cfg.ListOpt(
        'before_end_actions',
        default=['notify', 'snapshot'],
        help="""
What reservations may have done at ``before_end_lease``, by ``before_end``.

A request that asks for another is refused with 400.

Possible values:

* ``notify``: no more than the notification, which is emitted in any case;
  always offered
* ``snapshot``: an image of each server of the reservation, for its project
* ``webhook``, ``email``: tell a service or people of it; see the options of
  these names
* Names of installed entry points in ``nova_reservations.event.actions``. A
  name that is not installed stops the process with one line that says so

Related options:

* ``[reservations] default_before_end``
* ``[service_user]``: ``snapshot`` is refused where it is not configured
""",
    ),
    cfg.StrOpt(
        'default_before_end',
        default='notify',
        help="""
What is done at ``before_end_lease`` for reservations whose ``before_end`` is
``default``, as it is where the request does not say.

Possible values:

* As for ``[reservations] before_end_actions``; it need not be among those

Related options:

* ``[reservations] before_end_actions``
""",
    ),
    cfg.ListOpt(
        'webhook_addresses',
        default=[],
        # They may have credentials in them.
        secret=True,
        item_type=types.URI(schemes=['https', 'http']),
        help="""
Where ``before_end = webhook`` posts to that a lease ends soon: to each of
these, and to no other address.

Possible values:

* URLs, ``https`` ones unless the way there is safe in another way: the
  message names a project, its lease and its servers

Related options:

* ``[reservations] before_end_actions`` must have ``webhook``
* ``[reservations] webhook_secret``
""",
    ),
    cfg.StrOpt(
        'webhook_secret',
        secret=True,
        help="""
The key by which messages to ``webhook_addresses`` are signed.

Possible values:

* Any text that those who receive them know too; unset: none is sent
""",
    ),
    cfg.StrOpt(
        'email_server',
        help="""
The mail server by which ``before_end = email`` tells that a lease ends soon.

Possible values:

* A host name or an address; unset: none is sent

Related options:

* ``[reservations] before_end_actions`` must have ``email``
* ``[reservations] email_from`` and ``email_to`` must be set
""",
    ),
    cfg.PortOpt(
        'email_port',
        default=25,
        help="""
The port of ``email_server``.

Possible values:

* Any port
""",
    ),
    cfg.BoolOpt(
        'email_starttls',
        default=True,
        help="""
Whether the connection to ``email_server`` is encrypted, by STARTTLS; the
server's certificate must be valid.

Possible values:

* True or False
""",
    ),
    cfg.StrOpt(
        'email_username',
        help="""
The account on ``email_server``.

Possible values:

* A name; unset: no account is needed

Related options:

* ``[reservations] email_password``
""",
    ),
    cfg.StrOpt(
        'email_password',
        secret=True,
        help="""
The password of ``email_username``.

Possible values:

* Any text
""",
    ),
    cfg.StrOpt(
        'email_from',
        help="""
The sender of e-mails about leases.

Possible values:

* An address
""",
    ),
    cfg.StrOpt(
        'email_to',
        help="""
Who receives e-mails about a lease. Keystone is not asked for addresses.

Possible values:

* An address; ``{user_id}`` and ``{project_id}`` in it are those of the lease
""",
    ),
    cfg.ListOpt(
        'allowed_end_actions',
        default=['delete', 'shelve', 'migrate'],
        item_type=types.String(choices=['delete', 'shelve', 'migrate']),
        help="""
What reservations may have done to their servers at the end of the lease, by
``end_action``.

A request that asks for another is refused with 400. One that does not ask
gets ``delete``, or the first of these where ``delete`` is not among them.

Possible values:

* ``delete``: the servers are deleted
* ``shelve``: they are shelved and offloaded, so that their data is kept
* ``migrate``: they are moved to hosts outside of the pool, live if they run;
  what finds no place there is shelved

Related options:

* ``[service_user]``: all but ``delete`` is refused where it is not
  configured, for images are made by it
""",
    ),
    cfg.ListOpt(
        'instance_on_end',
        default=['delete'],
        item_type=types.String(choices=['create_image', 'suspend', 'delete']),
        help="""
What becomes of a server that carries its own lease at the end of that, unless
the lease says so itself, by ``on_end``.

Whatever the order here is, it is done in the order below, each when what is
before it is over.

Possible values:

* ``create_image``: an image is made of it, which belongs to its project; of a
  server whose disk is a volume, the volume is kept
* ``suspend``: it is suspended
* ``delete``: it is deleted

Related options:

* ``[service_user]``: ``create_image`` is refused where it is not configured
""",
    ),
    cfg.IntOpt(
        'max_end_grace',
        min=0,
        max=1440,
        default=60,
        help="""
The most minutes that a reservation may give its servers to shut down, by
``end_grace``, before its end action is taken.

The hosts are held for so much longer than the lease lasts.

Possible values:

* 0: none may
* Any number of minutes up to a day
""",
    ),
    cfg.IntOpt(
        'end_timeout',
        min=1,
        default=600,
        help="""
Seconds that the end of a lease waits for its servers to be gone before the
lease is put to ERROR. What a reservation has as ``end_grace`` comes on top.

The hosts that are not empty by then stay out of use, and the end goes on as
soon as they are: an operator finds the reason in the lease's
``status_reason``.

Possible values:

* Any number of seconds from 1
""",
    ),
    cfg.BoolOpt(
        'default_reservation',
        default=False,
        help="""
Whether each server gets a lease: one that is not asked for with a lease of
its own, nor in a reservation, is leased from ``reservation_start_date`` for
``reservation_length_days``, ``reservation_length_hours`` and
``reservation_length_minutes``, and ends as ``instance_on_end`` says. Its
owner extends that lease as any other.

For clouds that reclaim what is forgotten. Servers that are there already get
none.

Possible values:

* True or False

Related options:

* ``resource_types`` must have ``virtual:server``
* ``default_reservation_exempt_projects``
* ``default_reservation_exempt_flavors``
""",
    ),
    cfg.StrOpt(
        'reservation_start_date',
        default='now',
        help="""
When the leases begin that servers get by ``default_reservation``.

Possible values:

* ``now``
* A date, as ``2030-01-31 12:00``, in UTC: servers that are asked for before
  are shelved until then; those after it have theirs from now on

Related options:

* ``default_reservation``
* ``[service_user]``: shelving needs it
""",
    ),
    cfg.IntOpt(
        'reservation_length_days',
        min=0,
        max=36500,
        default=30,
        help="""
How long the leases last that servers get by ``default_reservation``: its
days, to which its hours and minutes are added.

Possible values:

* Any number of days; not all three options can be 0
""",
    ),
    cfg.IntOpt(
        'reservation_length_hours',
        min=0,
        max=876000,
        default=0,
        help="""
The hours that are added to ``reservation_length_days``.

Possible values:

* Any number of hours
""",
    ),
    cfg.IntOpt(
        'reservation_length_minutes',
        min=0,
        max=52560000,
        default=0,
        help="""
The minutes that are added to ``reservation_length_days``.

Possible values:

* Any number of minutes
""",
    ),
    cfg.ListOpt(
        'default_reservation_exempt_projects',
        default=[],
        help="""
Projects whose servers get no lease by ``default_reservation``.

Possible values:

* Ids of projects
""",
    ),
    cfg.ListOpt(
        'default_reservation_exempt_flavors',
        default=[],
        help="""
Flavors of which servers get no lease by ``default_reservation``.

Possible values:

* Ids of flavors
""",
    ),
    cfg.IntOpt(
        'unshelve_timeout',
        min=0,
        default=600,
        help="""
Seconds after the start of a lease that a server carries, for which it is
tried to unshelve the server where no host has room for it.

It is tried once in a minute, and once in any case. After that the lease goes
to ERROR, with the reason; the server stays shelved, and is its owner's to
unshelve.

Possible values:

* Any number of seconds from 0
""",
    ),
    cfg.IntOpt(
        'create_retry_interval',
        min=1,
        max=86400,
        default=60,
        help="""
Seconds that a lease of type ``retry`` waits for capacity, for each of the
times that its ``max_retries`` says.

It is tried again as soon as anything comes free that it could have, by the end
of a lease or otherwise, however often that is.

Possible values:

* 1 to 86400 seconds

Related options:

* ``max_create_retries``
""",
    ),
    cfg.IntOpt(
        'max_create_retries',
        min=0,
        max=1000000,
        default=60,
        help="""
For how many times ``create_retry_interval`` a lease of type ``retry`` waits
for capacity at the most, whatever its ``max_retries`` says; and for how many,
if that says nothing. After that the lease goes to ERROR.

Possible values:

* 0: such leases do not wait, and are refused as any other
* Any number of times

Related options:

* ``create_retry_interval``
""",
    ),
    cfg.StrOpt(
        'best_effort_aggregate',
        help="""
The aggregate of Nova whose hosts may be emptied, by migration of the servers
that are on them, for leases of type ``best_effort``.

Its hosts stay everybody's until such a lease needs them, and are so again
after it. They are not enrolled; those of them that are enrolled are of the
pool.

Possible values:

* The name or the UUID of an aggregate
* Unset: no host is emptied, and such leases get what is free in the pool

Related options:

* ``best_effort_strategy``
* ``best_effort_timeout``
* ``[service_user]``: no host is emptied where it is not configured
""",
    ),
    cfg.StrOpt(
        'best_effort_strategy',
        default='fewest_servers',
        help="""
Which hosts are emptied first for leases of type ``best_effort``.

Possible values:

* ``fewest_servers``: those with the fewest servers on them
* ``least_memory``: those whose servers have the least memory
* ``by_state``: stopped servers before running ones, small before large ones,
  and never a server with CPUs or devices of the host for itself
* The name of an installed entry point in
  ``nova_reservations.drain.strategies``. A name that is not installed stops
  the process with one line that says so

Related options:

* ``best_effort_aggregate``
""",
    ),
    cfg.IntOpt(
        'best_effort_timeout',
        min=1,
        max=86400,
        default=900,
        help="""
Seconds that hosts are emptied for a lease of type ``best_effort``. If there
are not enough by then, the lease is ``TIMEDOUT``, and what was taken for it is
given back.

Possible values:

* 1 to 86400 seconds

Related options:

* ``best_effort_aggregate``
""",
    ),
    cfg.BoolOpt(
        'conductors_guarded',
        default=False,
        help="""
Whether every nova-conductor, those of cells too, looks at what it claims.

A build, a resize or a cold migration that fails on its host goes on to
another one, which nova-conductor claims without asking nova-scheduler. Where
``[oslo_messaging_notifications] driver`` of each nova-conductor names
``nova_reservations`` besides what it names already, it takes no host that was
enrolled meanwhile.

Possible values:

* ``True``: a host is reservable as soon as it is found empty. If one
  nova-conductor has not that line, or has not been restarted since it got it,
  servers of others may be on leased hosts
* ``False``: those builds, resizes, cold migrations and moves by force that
  were in flight when the host was closed are waited for

Related options:

* ``build_wait``
""",
    ),
    cfg.IntOpt(
        'build_wait',
        default=1800,
        min=0,
        help="""
How long an enrolment, and the emptying of a host for a lease of type
``best_effort``, waits for what was in flight when the host was closed, in
seconds.

Only where nova-conductors are not guarded. The default is for slow images and
large disks: it is beyond what Nova's own periodic tasks leave alone. After
that those still in flight are named, in ``os-hosts`` and in the log, and an
administrator decides; a host that was to be emptied is given up.

Possible values:

* A number of seconds

Related options:

* ``conductors_guarded``
* ``best_effort_timeout``
""",
    ),
    cfg.IntOpt(
        'host_refresh_interval',
        min=1,
        default=60,
        help="""
Seconds between two looks at which facts of enrolled hosts (CPUs, memory,
disk, traits, inventories, availability zone) have changed.

One request to placement, whatever the number of hosts; details are read only
for those that changed.

Possible values:

* Any number of seconds from 1
""",
    ),
    cfg.BoolOpt(
        'enable_polling_monitor',
        default=True,
        help="""
Whether the monitors of all types of resource look regularly for those that
have failed, or are back.

For a compute host: whether its nova-compute has reported within
``service_down_time``, and is neither disabled nor forced down.

Possible values:

* True or False

Related options:

* ``polling_interval``
* ``enable_notification_monitor``
""",
    ),
    cfg.IntOpt(
        'polling_interval',
        min=1,
        default=60,
        help="""
Seconds between two looks of the monitors.

A compute host that has stopped is seen to be down within Nova's
``service_down_time`` and this, and has failed at the first look that is
``down_after`` later; one that was disabled or forced down is seen within this.

Possible values:

* Any number of seconds from 1

Related options:

* ``enable_polling_monitor``
""",
    ),
    cfg.BoolOpt(
        'enable_notification_monitor',
        default=False,
        help="""
Whether the monitors listen to notifications too, to learn at once what they
would only see at their next look.

For compute hosts Nova must send versioned notifications: that a service was
disabled, enabled or forced down is told by them, that it has died is not.
They are read from a pool of their own, so that nobody else misses one.

Possible values:

* True or False

Related options:

* ``[notifications] notification_format``
* ``[notifications] versioned_notifications_topics``
* ``[oslo_messaging_notifications] transport_url``
* ``enable_polling_monitor``
""",
    ),
    cfg.IntOpt(
        'down_after',
        min=0,
        default=120,
        help="""
Seconds for which a resource must be down until it has failed.

For a compute host they begin when it is seen that its nova-compute has not
reported for Nova's ``service_down_time``, or was disabled by Nova itself. From
then on no new lease gets it; its leases are healed when it has failed. A host
that is forced down has failed at once; one that an administrator has disabled
does not fail by being down.

Possible values:

* 0: what is down has failed
* Any number of seconds

Related options:

* ``[DEFAULT] service_down_time``
* ``polling_interval``
* ``heal_active``
""",
    ),
    cfg.FloatOpt(
        'healing_interval',
        min=0,
        default=60,
        help="""
Minutes between two checks of what leases hold, each of which heals what will
be needed before the next.

When a resource fails, the leases that have begun, or begin within this, are
healed at once; for the others it may yet be back in time.

Possible values:

* 0: there is no check; all leases are healed when a resource fails, whenever
  they begin
* Any number of minutes
""",
    ),
    cfg.StrOpt(
        'heal_active',
        default='failed',
        choices=[
            ('failed', 'of what has failed, or no longer is what they want'),
            ('forced_down', 'only of hosts that are forced down'),
            ('never', 'of nothing, unless their owner asks for it'),
        ],
        help="""
What active leases get something else in place of by themselves.

Servers on a host that is only silent may still run, and it may be back soon;
that nothing runs there any more is said by who forces it down. Whatever this
says, ``missing_resources`` and ``degraded`` tell that a lease lacks something,
its owner may ask for a replacement (``openstack lease set --replace-failed``),
and leases that have not begun get other resources in time.

Possible values:

* ``failed``, ``forced_down`` or ``never``

Related options:

* ``down_after``
* ``healing_interval``
* ``heal_evacuate``
""",
    ),
    cfg.IntOpt(
        'heal_limit',
        min=1,
        max=100,
        default=30,
        help="""
Per cent of the enrolled hosts of a cell that may fail within 10 minutes.

If more do, and at least 3, then nothing is moved off them: rather the network
or the message bus has failed than they. An error in the log and the
notification ``resources.mass_failure`` tell so. It ends when most of them are
back, or when an administrator says that they are lost:
``nova-reservations-manage heal``.

Possible values:

* 100: all may fail, and are healed
* 1 to 99

Related options:

* ``heal_active``
""",
    ),
    cfg.BoolOpt(
        'heal_evacuate',
        default=False,
        help="""
Whether servers of a lease are evacuated from a host that has failed to those
that the lease has instead.

Only from a host that is forced down: by that an operator, or what fences
hosts, says that nothing runs there any more.

Possible values:

* True or False
""",
    ),
    cfg.IntOpt(
        'engine_threads',
        min=1,
        max=64,
        default=8,
        help="""
How many leases one worker of nova-scheduler starts or ends at the same time.

Possible values:

* 1 to 64 threads
""",
    ),
    cfg.BoolOpt(
        'enable_engine',
        default=True,
        help="""
Whether the workers of this nova-scheduler start and end leases, and refresh
what is known of hosts.

At least one nova-scheduler of a cloud must have it on. Access is enforced
whether it is on or off.

Possible values:

* True or False
""",
    ),
    cfg.FloatOpt(
        'resource_weight_multiplier',
        min=-1_000_000,
        max=1_000_000,
        default=1.0,
        help="""
How much the free amount of tracked resources counts when nova-scheduler
chooses among the hosts that will do for a server.

Takes effect where ``[filter_scheduler] weight_classes`` names
``ResourceWeigher`` of this package. An aggregate can have its own, as
metadata of this name.

Possible values:

* A number above 0: hosts with more free first. With 1 it counts as much as
  each of Nova's weighers
* A number below 0: hosts with less free first, which fills them
* 0: it does not count

Related options:

* ``[filter_scheduler] weight_classes``
* ``scheduler_consumers``
""",
    ),
    cfg.FloatOpt(
        'reserved_aggregates_weight_multiplier',
        min=-1_000_000,
        max=1_000_000,
        default=10.0,
        help="""
How much it counts, when nova-scheduler chooses among the hosts of a
reservation, that servers are there already.

Takes effect where ``[filter_scheduler] weight_classes`` names
``ReservedAggregatesWeigher`` of this package, and ``scheduler_consumers``
names ``reserved_aggregates``. An aggregate can have its own, as metadata of
this name.

Possible values:

* A number above 0: hosts with fewer slots left, or with more servers, first.
  The default is more than Nova's own weighers for CPU, memory and disk, which
  spread servers, together
* A number below 0: the servers of a reservation are spread over its hosts
* 0: it does not count

Related options:

* ``[filter_scheduler] weight_classes``
* ``scheduler_consumers``
""",
    ),
]

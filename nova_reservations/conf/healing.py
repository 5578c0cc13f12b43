# SPDX-License-Identifier: Apache-2.0
"""The replacement of what has failed, for the leases that hold it."""

from oslo_config import cfg

OPTS = [
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
that the lease has instead; servers with a lease of their own and without a
guaranteed place, to any host that Nova chooses.

Only from a host that is forced down: by that an operator, or what fences
hosts, says that nothing runs there any more.

Possible values:

* True or False
""",
    ),
]

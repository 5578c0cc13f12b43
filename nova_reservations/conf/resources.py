# SPDX-License-Identifier: Apache-2.0
"""The figures that the shipped resource plugins can't find out themselves."""

from oslo_config import cfg

GROUP = cfg.OptGroup(
    'resource_plugins',
    title='Resource plugins',
    help="""
What the resources that ``[DEFAULT] compute_resources`` names have on this
host.
""",
)

OPTS = [
    cfg.FloatOpt(
        'cu_capacity',
        min=0,
        default=0,
        help="""
The compute units that this host has for servers and for itself, of the
resource ``cu``.

What a unit is, is the operator's choice, as long as it is the same on every
host: the result of one's own benchmark, for example. What
``reserved_host_cpus`` reserves of the host's CPUs is its share of them that
servers can't have.

Possible values:

* 0: measured when nova-compute starts, for some hundredths of a second; a
  core that makes BLAKE2b hashes of 1000 MB in a second has 100 units
* Any number above 0
""",
    ),
    cfg.IntOpt(
        'bandwidth_capacity',
        min=0,
        default=0,
        help="""
The network bandwidth of this host for servers, in Mbit/s for each direction,
of the resource ``bandwidth``.

Possible values:

* 0: the sum of the speeds of the links in ``bandwidth_interfaces``
* Any number of Mbit/s above 0

Related options:

* ``bandwidth_interfaces``
""",
    ),
    cfg.ListOpt(
        'bandwidth_interfaces',
        default=[],
        help="""
The network interfaces whose links servers share, of the resource
``bandwidth``.

Their speeds are read from ``/sys/class/net``, at each audit: a link that is
down has none.

Possible values:

* Empty: every interface that is a device, not a bridge, a bond, a tunnel or
  a virtual function of another
* Names of interfaces; a bond has the speed of its members

Related options:

* ``bandwidth_capacity``
""",
    ),
]

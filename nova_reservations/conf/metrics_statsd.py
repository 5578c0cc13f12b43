# SPDX-License-Identifier: Apache-2.0
"""The server to which measurements go by the protocol of statsd."""

from oslo_config import cfg

GROUP = cfg.OptGroup(
    'metrics_statsd',
    title='Metric plugin statsd',
    help="""
Measurements as gauges of statsd, by UDP.
""",
)

OPTS = [
    cfg.HostAddressOpt(
        'host',
        default='127.0.0.1',
        mutable=True,
        help="""
Where statsd listens. Packets are neither signed nor encrypted.

Possible values:

* An address or a name
""",
    ),
    cfg.PortOpt(
        'port',
        default=8125,
        mutable=True,
        help="""
The UDP port on which statsd listens.

Possible values:

* A port
""",
    ),
    cfg.StrOpt(
        'prefix',
        default='nova',
        regex=r'^[A-Za-z0-9_.-]*$',
        mutable=True,
        help="""
What the names of all gauges begin with.

Possible values:

* Letters, digits, dots, dashes and underscores, or nothing
""",
    ),
    cfg.StrOpt(
        'naming',
        default='dotted',
        choices=[
            ('dotted', 'nova.HOST.PROJECT.SERVER.cpu.percent'),
            ('influxdb', 'nova.cpu.percent,host=HOST,server=SERVER,...'),
            ('graphite', 'nova.cpu.percent;host=HOST;server=SERVER;...'),
        ],
        mutable=True,
        help="""
How a gauge says what it is of.

Possible values:

* ``dotted``: in its name, as every statsd takes it
* ``influxdb``, ``graphite``: in tags, which Telegraf, the statsd exporter of
  Prometheus, and Graphite take apart
""",
    ),
    cfg.IntOpt(
        'packet_size',
        default=1432,
        min=256,
        max=65507,
        mutable=True,
        help="""
Bytes that a packet may have; gauges are batched up to it.

Possible values:

* 1432 fits the MTU of Ethernet, 8932 that of jumbo frames, 512 any
""",
    ),
]

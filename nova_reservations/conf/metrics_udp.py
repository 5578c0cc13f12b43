# SPDX-License-Identifier: Apache-2.0
"""The server to which measurements go as plain datagrams."""

from oslo_config import cfg

GROUP = cfg.OptGroup(
    'metrics_udp',
    title='Metric plugin udp',
    help="""
Each measurement as a datagram of UDP.
""",
)

OPTS = [
    cfg.HostAddressOpt(
        'host',
        default='127.0.0.1',
        mutable=True,
        help="""
Where datagrams are sent to. They are neither signed nor encrypted.

Possible values:

* An address or a name
""",
    ),
    cfg.PortOpt(
        'port',
        default=4952,
        mutable=True,
        help="""
The UDP port that datagrams are sent to.

Possible values:

* A port
""",
    ),
    cfg.StrOpt(
        'encoding',
        default='json',
        choices=[
            ('json', 'JSON, in UTF-8'),
            ('msgpack', 'MessagePack, shorter'),
        ],
        mutable=True,
        help="""
How a measurement is written.

Possible values:

* ``json`` or ``msgpack``
""",
    ),
    cfg.IntOpt(
        'packet_size',
        default=1432,
        min=512,
        max=65507,
        mutable=True,
        help="""
Bytes that a datagram may have. One that would have more goes without its
single disks and interfaces.

Possible values:

* 1432 fits the MTU of Ethernet, 8932 that of jumbo frames
""",
    ),
]

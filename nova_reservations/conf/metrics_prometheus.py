# SPDX-License-Identifier: Apache-2.0
"""The page that Prometheus reads."""

from oslo_config import cfg

GROUP = cfg.OptGroup(
    'metrics_prometheus',
    title='Metric plugin prometheus',
    help="""
Serve the latest measurements on a page for Prometheus.
""",
)

OPTS = [
    cfg.HostAddressOpt(
        'host',
        default='127.0.0.1',
        mutable=True,
        help="""
The address to listen on.

The page tells of all servers of the host, and asks nobody who they are: what
is not loopback should be a network of operators.

Possible values:

* An address of this host
""",
    ),
    cfg.PortOpt(
        'port',
        default=9823,
        mutable=True,
        help="""
The TCP port to listen on; the page is ``/metrics``.

Possible values:

* A port
""",
    ),
]

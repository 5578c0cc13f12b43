# SPDX-License-Identifier: Apache-2.0
"""The way of samples to Ceilometer."""

from oslo_config import cfg

GROUP = cfg.OptGroup(
    'metrics_ceilometer',
    title='Metric plugin ceilometer',
    help="""
Samples for Ceilometer's notification agent, with the names of its own meters.
""",
)

OPTS = [
    cfg.StrOpt(
        'driver',
        default='messagingv2',
        mutable=True,
        help="""
The driver of oslo.messaging by which samples are sent, whatever Nova's own
notifications use; the transport is that of ``[oslo_messaging_notifications]
transport_url``.

Possible values:

* The name of an entry point in ``oslo.messaging.notify.drivers``
""",
    ),
    cfg.StrOpt(
        'topic',
        default='notifications',
        mutable=True,
        help="""
The topic to send to: one that Ceilometer's notification agent listens to, on
Nova's exchange.

Possible values:

* One of the ``[oslo_messaging_notifications] topics`` of Ceilometer
""",
    ),
]

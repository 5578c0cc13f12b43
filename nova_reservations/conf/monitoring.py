# SPDX-License-Identifier: Apache-2.0
"""Monitors: how it is found out that a resource has failed."""

from oslo_config import cfg

OPTS = [
    cfg.BoolOpt(
        'enable_polling_monitor',
        default=True,
        help="""
Whether the monitors of all types of resource look regularly for those that
have failed, or are back.

For a compute host: whether its nova-compute has reported within
``service_down_time``, and is neither disabled nor forced down.

What has failed, is down or is disabled is looked at in any case: no
notification tells that a nova-compute reports again.

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
]

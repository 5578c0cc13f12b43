# SPDX-License-Identifier: Apache-2.0
"""Enforcement: what else must allow a lease, beside policy and limits."""

from oslo_config import cfg

OPTS = [
    cfg.ListOpt(
        'enforcement',
        default=[],
        help="""
What must allow a lease before it is made or changed, beside policy and
limits: names of entry points of ``nova_reservations.enforcement``, which are
asked in this order.

Possible values:

* ``external_service``: a service elsewhere, as Blazar's
  ``ExternalServiceFilter`` asks it
* Names of plugins of other packages. One that is not installed stops the
  process with a line that says so
""",
    ),
    cfg.URIOpt(
        'external_service_base_endpoint',
        schemes=['http', 'https'],
        help="""
The URL of the external service, below which are ``check-create``,
``check-update`` and ``on-end``; the names of these options are Blazar's.

Possible values:

* A URL; unset: only what has an address of its own is asked
""",
    ),
    cfg.URIOpt(
        'external_service_check_create_endpoint',
        schemes=['http', 'https'],
        help="""
The URL that is asked before a lease is made.

Possible values:

* A URL; unset: ``check-create`` below ``external_service_base_endpoint``
""",
    ),
    cfg.URIOpt(
        'external_service_check_update_endpoint',
        schemes=['http', 'https'],
        help="""
The URL that is asked before a lease is changed.

Possible values:

* A URL; unset: ``check-update`` below ``external_service_base_endpoint``
""",
    ),
    cfg.URIOpt(
        'external_service_on_end_endpoint',
        schemes=['http', 'https'],
        help="""
The URL that is told that a lease is over.

Possible values:

* A URL; unset: ``on-end`` below ``external_service_base_endpoint``
""",
    ),
    cfg.StrOpt(
        'external_service_token',
        secret=True,
        help="""
The token by which the external service knows this Nova, sent as
``X-Auth-Token``.

Possible values:

* Any text; unset: none is sent
""",
    ),
    cfg.StrOpt(
        'external_service_auth_url',
        help="""
The URL of keystone that the external service is told as ``auth_url``.

Possible values:

* A URL; unset: it is told none
""",
    ),
    cfg.FloatOpt(
        'external_service_timeout',
        min=0.1,
        max=60,
        default=5,
        help="""
Seconds for which the external service may take to connect, and again to
answer.

Possible values:

* 0.1 to 60 seconds
""",
    ),
    cfg.BoolOpt(
        'external_service_fail_open',
        default=False,
        help="""
Whether leases are allowed while the external service does not answer, or
answers with a status from 500 on. Otherwise they are refused with 503.

Possible values:

* True or False
""",
    ),
]

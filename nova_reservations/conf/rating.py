# SPDX-License-Identifier: Apache-2.0
"""Rating: what the usage of leases costs."""

from oslo_config import cfg
from oslo_config import types

_PRICE = r'\d+(\.\d+)?'

OPTS = [
    cfg.StrOpt(
        'rating',
        help="""
What puts an amount to the usage of each lease: the name of an entry point of
``nova_reservations.rating``. Amounts are in ``GET /usage`` and in
``openstack lease usage``.

Possible values:

* Unset: nothing has an amount
* ``flat``: ``rating_flat_price`` for each lease, in the month, or whatever
  window is asked for, in which it began
* ``reserved``: ``rating_prices`` for what a lease held, used or not
* ``used``: ``rating_prices`` for the servers of a lease
* The name of a plugin of another package. One that is not installed stops the
  process with a line that says so
""",
    ),
    cfg.ListOpt(
        'rating_prices',
        item_type=types.String(regex=rf'\A\S+={_PRICE}\Z'),
        default=[],
        help="""
Prices of a unit of a resource class for an hour.

Possible values:

* ``CLASS=PRICE``, separated by commas, as ``physical:host=1.20, slots=0.10``
  or ``VCPU=0.02, MEMORY_MB=0.000004``. Classes are those that
  ``GET /usage`` shows as ``reserved`` or ``used``. A class without a price
  costs nothing

Related options:

* ``[reservations] rating``
""",
    ),
    cfg.StrOpt(
        'rating_flat_price',
        regex=rf'\A{_PRICE}\Z',
        default='0',
        help="""
Price of a lease, with ``rating = flat``.

Possible values:

* A number without sign, as 12.50
""",
    ),
    cfg.BoolOpt(
        'rating_degraded',
        default=False,
        help="""
Whether, with ``rating = reserved``, also what could not be used is paid for,
because the host of it had failed.

Possible values:

* True or False
""",
    ),
    cfg.StrOpt(
        'rating_unit',
        default='',
        max_length=32,
        help="""
Unit of all prices and amounts, as it is shown beside them.

Possible values:

* Any text, as EUR, or credits
""",
    ),
    cfg.IntOpt(
        'rating_digits',
        min=0,
        max=9,
        default=2,
        help="""
Digits after the point to which the amount of each lease is rounded, half up. A
total is the sum of the rounded amounts.

Possible values:

* 0 to 9
""",
    ),
]

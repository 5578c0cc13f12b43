# SPDX-License-Identifier: Apache-2.0
"""The upgrade check of combinations of options: each value is valid by itself,
but together they have no effect, or keep something from working."""

from collections.abc import Collection
from collections.abc import Iterator
import difflib

import os_resource_classes
from oslo_config import cfg

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.api.servers import default_lease
from nova_reservations.cmd import limit_check
from nova_reservations.conf import limits
from nova_reservations.objects import usage
from nova_reservations.objects import usage_reports

FLAT = 'flat'
BY_CLASS = ('reserved', 'used')
"""The shipped ratings that use rating_prices."""

EXTERNAL = 'external_service'

_OF_ACTION = {
    'webhook': ('webhook_addresses', 'webhook_secret'),
    'email': ('email_server', 'email_from', 'email_to'),
}
"""Event action -> the options that it requires."""

_CUSTOM = os_resource_classes.CUSTOM_NAMESPACE
_ALWAYS = {
    *os_resource_classes.STANDARDS,
    usage.SLOTS,
    usage_reports.SERVERS,
}
"""The classes that usage may have in any cloud, beside the cloud's own."""


_OF_ALL_PROJECTS = (
    'max_host_hours',
    'max_open_leases',
    'max_reserved_hosts',
    'max_reserved_resources',
    'max_reserved_slots',
    'max_waiting_leases',
)
"""The options that are not read if keystone has the limits of projects."""


def failures(conf: cfg.ConfigOpts) -> Iterator[str]:
    """Yield combinations that can't work; each value must be valid.

    The messages name options and not their values, which may be secrets.
    """
    group = conf.reservations
    if not group.resource_types:
        yield (
            '[reservations] resource_types is empty, so that nothing can be '
            'leased. Remove the line, which leaves physical:host, or name '
            'what can be leased.'
        )
    actions = {*group.before_end_actions, group.default_before_end}
    for action, needed in _OF_ACTION.items():
        missing = [name for name in needed if not group[name]]
        if action in actions and missing:
            yield (
                f'[reservations] has before_end {action} without '
                f'{", ".join(missing)}: nobody is told of an end. Set '
                f'{"it" if len(missing) == 1 else "them"}, or take {action} '
                'out of before_end_actions and default_before_end.'
            )
    if 'email' in actions and group.email_to:
        try:
            group.email_to.format(user_id='', project_id='')
        except (LookupError, ValueError):
            yield (
                '[reservations] email_to can have {user_id} and '
                '{project_id} in it, and no other braces.'
            )
    if EXTERNAL in group.enforcement and not any(
        group[f'{EXTERNAL}_{name}_endpoint']
        for name in ('base', 'check_create', 'check_update', 'on_end')
    ):
        yield (
            f'[reservations] enforcement names {EXTERNAL}, which has no '
            f'address. Set {EXTERNAL}_base_endpoint.'
        )
    try:
        default_lease.check(conf)
    except exception.ImpossibleDefaults as error:
        yield str(error)


def names_resources(conf: cfg.ConfigOpts) -> bool:
    """Return whether a warning depends on what can be leased."""
    group = conf.reservations
    return bool(group.rating_prices or group.max_reserved_resources)


def warnings(
    conf: cfg.ConfigOpts, leasable: limit_check.Leasable | None
) -> Iterator[str]:
    """Yield options that have no effect.

    :param leasable: what can be leased here; None: it is not known
    """
    group = conf.reservations
    if group.rating == FLAT and not float(group.rating_flat_price):
        yield (
            '[reservations] rating = flat without a price: each lease costs '
            '0. Set rating_flat_price.'
        )
    if group.rating in BY_CLASS and not group.rating_prices:
        yield (
            f'[reservations] rating = {group.rating} without a price: each '
            'lease costs 0. Set rating_prices.'
        )
    if group.rating in (None, '', FLAT) and group.rating_prices:
        yield (
            '[reservations] rating_prices is not read. Set rating to one of '
            f'{", ".join(BY_CLASS)}.'
        )
    is_unified = group.limits == limits.UNIFIED
    for name in _OF_ALL_PROJECTS if is_unified else ():
        if group[name] not in (-1, {}):
            yield (
                f'[reservations] {name} is not read, because of limits = '
                'unified. Register a limit in keystone, or remove it.'
            )
    if leasable is None:
        return
    classes = {*leasable}.union(
        *(
            classes
            for resource_type, classes in leasable.items()
            if resource_type != objects.HOST
        )
    )
    yield from _unknown_classes(group.rating_prices, classes)
    if not is_unified:
        for found in limit_check.of_nothing(
            group.max_reserved_resources, leasable
        ):
            yield f'[reservations] max_reserved_resources has {found}'


def _unknown_classes(
    prices: Collection[str], classes: set[str]
) -> Iterator[str]:
    known = _ALWAYS | classes
    for name in (price.rpartition('=')[0] for price in prices):
        if name in known or name.startswith(_CUSTOM):
            continue
        near = difflib.get_close_matches(name, sorted(known), 1)
        yield (
            f'[reservations] rating_prices has a price of {name}, a class of '
            'nothing that can be leased here'
            + (f'; is {near[0]} meant?' if near else '')
        )

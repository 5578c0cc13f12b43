# SPDX-License-Identifier: Apache-2.0
"""The upgrade check of limits: of keystone's unified limits, and of limits on
resources that do not exist here."""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import difflib
from typing import Any

from oslo_config import cfg
from oslo_limit import limit

from nova_reservations.cloud import time_limits
from nova_reservations.cloud import unified_limits
from nova_reservations.conf import limits as options
from nova_reservations.objects import limits

SEE_ALL = frozenset({'admin', 'service'})
"""Roles in a project with which recent versions of keystone show the limits of
all projects."""

Leasable = Mapping[str, Collection[str]]
"""Resource type that can be leased -> the resource classes of its resources.
"""

NOT_SYSTEM = 'The user of [oslo_limit] has no token of the scope system'
GRANT = (
    'Set system_scope = all there, and no project, and give the user the '
    'role: openstack role add --user USER --system all reader'
)


def failures(conf: cfg.ConfigOpts) -> Iterator[str]:
    """Yield why limits can't be read, or only the defaults and not those of
    all projects."""
    if conf.reservations.limits != options.UNIFIED:
        return
    group = cfg.CONF.oslo_limit
    if not (
        group.endpoint_id
        or group.endpoint_service_type
        or group.endpoint_service_name
    ):
        yield (
            '[oslo_limit] names no endpoint. Set endpoint_id to that of '
            'Nova: openstack endpoint list --service nova --interface '
            'public -c ID'
        )
        return
    try:
        access = _access(limit.Enforcer(lambda *_: {}, cache=False))
    except unified_limits.FAILURES as error:
        yield (
            f'Keystone does not tell limits: {error}. Look at auth_url, '
            'username, password and the endpoint in [oslo_limit]; nova-api '
            'and nova-scheduler need the same.'
        )
        return
    if not (access.system_scoped or SEE_ALL & {*access.role_names}):
        yield (
            f'{NOT_SYSTEM}, nor the role admin: keystone shows it the '
            'defaults, and not the limits that projects have of their own.'
        )
        yield GRANT


def of_nothing(names: Iterable[str], leasable: Leasable) -> Iterator[str]:
    """Yield names of limits on resources other than hosts for which there is
    no such resource."""
    known = [
        *leasable,
        *(
            limits.of_amounts(resource_type, resource_class)
            for resource_type, classes in leasable.items()
            for resource_class in classes
        ),
    ]
    for name in sorted({*names}.difference(known)):
        resource_type, resource_class = limits.parsed(name)
        what = (
            f'no {resource_type} that there is has {resource_class}'
            if resource_type in leasable
            else f'{resource_type} is no type that can be leased here'
        )
        near = difflib.get_close_matches(name, sorted(known), 1)
        meant = f'; is {near[0]} meant?' if near else ''
        yield f'{name}, and {what}{meant}'


def warnings(
    conf: cfg.ConfigOpts, leasable: Callable[[], Leasable | None]
) -> Iterator[str]:
    """Yield things that an operator should look at, though nothing fails.

    :param leasable: returns None if the resources can't be read
    """
    if conf.reservations.limits != options.UNIFIED:
        return
    unified_limits.check()
    if cfg.CONF.oslo_limit.timeout is None:
        yield (
            '[oslo_limit] has no timeout: a keystone that hangs keeps '
            f'requests waiting for {time_limits.SECONDS:g} seconds. Set '
            'timeout = 5'
        )
    enforcer = limit.Enforcer(lambda *_: {}, cache=False)
    if not _access(enforcer).system_scoped:
        yield (
            f'{NOT_SYSTEM}: an older keystone shows it the defaults, and '
            'not the limits that projects have of their own.'
        )
        yield GRANT
    known = {
        name
        for name, _ in enforcer.model.get_registered_limits(
            None  # type: ignore[arg-type]
        )
    }
    names = [f'{unified_limits.PREFIX}{name}' for name in limits.NAMES]
    missing = [name for name in names if name not in known]
    if missing:
        yield (
            f'Keystone has no registered limit {", ".join(missing)}: '
            'this is not limited. To limit it, or to have the default -1:'
        )
        yield (
            '  openstack registered limit create --service nova --region '
            f'REGION --default-limit NUMBER {missing[0]}'
        )
    others = {
        name.removeprefix(unified_limits.PREFIX)
        for name in known.difference(names)
        if name.startswith(unified_limits.PREFIX)
    }
    if others and (found := leasable()) is not None:
        for name in of_nothing(others, found):
            yield f'Keystone has a limit {unified_limits.PREFIX}{name}'


def _access(enforcer: limit.Enforcer) -> Any:
    """Return the scope and roles of the token with which keystone is asked."""
    session: Any = enforcer.connection.session
    return session.auth.get_access(session)

# SPDX-License-Identifier: Apache-2.0
"""Contexts that act for projects, with a token of ``[service_user]``.

Images and volumes belong to other services, which require a token. When a
lease ends there is no token of a user.
"""

from collections import defaultdict
from collections.abc import Collection
import functools
from typing import Any

from keystoneauth1 import adapter
from keystoneauth1 import exceptions as ks_exc
from keystoneauth1 import loading
from nova import context as nova_context
import nova.conf

from nova_reservations import exception
from nova_reservations.cloud import errors

CONF = nova.conf.CONF
GROUP = 'service_user'
ADMIN = 'admin'

PROJECTS = 256
"""The number of projects whose tokens are cached."""

_INHERITED = 'OS-INHERIT:inherited_to'

_NO_OTHER_SCOPE = dict.fromkeys(
    (
        'domain_id',
        'domain_name',
        'project_name',
        'project_domain_id',
        'project_domain_name',
        'system_scope',
        'trust_id',
    )
)


def are_configured() -> bool:
    return plugin() is not None


@functools.cache
def plugin() -> Any:
    """Return the auth plugin of the service user; None if none is configured.

    It keeps its token until shortly before that expires.
    """
    return loading.load_auth_from_conf_options(CONF, GROUP)


@functools.lru_cache(maxsize=PROJECTS)
def plugin_for(project_id: str) -> Any:
    """Return the auth plugin for tokens that are scoped to a project; None if
    no credentials are configured.

    Decision 0055: doc/source/decisions/0055-tokens-of-a-project
    """
    return loading.load_auth_from_conf_options(
        CONF, GROUP, project_id=project_id, **_NO_OTHER_SCOPE
    )


def act_for(project_id: str) -> bool:
    """Return whether the service user can get a token of a project.

    :raises: CloudUnavailable
    """
    return access_in(project_id) is not None


def access_in(project_id: str) -> Any:
    """Return a new token of a project, with its roles and its catalog; None:
    the service user has no role there, so keystone issues no token.

    Keystone is asked each time, because a cached token may have a role that
    was taken away since.

    :raises: CloudUnavailable
    """
    if not are_configured():
        return None
    try:
        return plugin_for(project_id).get_auth_ref(
            loading.load_session_from_conf_options(CONF, GROUP)
        )
    except ks_exc.Unauthorized:
        # If the credentials do not work at all, this raises.
        _access()
        return None
    except ks_exc.ClientException as error:
        raise errors.of_session('Keystone', error) from error


def services() -> Collection[str]:
    """Return the types of the services in keystone's catalog.

    :raises: CloudUnavailable
    """
    return services_of(_access()) if are_configured() else ()


def regions() -> Collection[str]:
    """Return the regions in keystone's catalog; none, if no credentials are
    configured.

    :raises: CloudUnavailable
    """
    if not are_configured():
        return ()
    return {
        region
        for service in _catalog(_access().service_catalog.catalog)
        for region in (each['region'] for each in service['endpoints'])
        if region is not None
    }


def services_of(access: Any) -> Collection[str]:
    """Return the types of the services in the catalog of a token."""
    return {each['type'] for each in access.service_catalog.catalog}


def inherited_roles() -> Collection[str]:
    """Return the roles of the service user that projects inherit.

    :raises: CloudUnavailable if keystone does not tell
    """
    if not are_configured():
        return ()
    access = _access()
    try:
        answer = adapter.Adapter(
            loading.load_session_from_conf_options(CONF, GROUP, auth=plugin()),
            service_type='identity',
            interface=['internal', 'public'],
        ).get(
            '/role_assignments',
            params={
                'user.id': access.user_id,
                f'scope.{_INHERITED}': 'projects',
                'include_names': 'true',
            },
        )
    except ks_exc.ClientException as error:
        raise errors.of_session('Keystone', error) from error
    # Keystone adds the user's system roles to each of these lists.
    return {
        each['role']['name']
        for each in answer.json()['role_assignments']
        if _INHERITED in each['scope']
    }


def context() -> nova_context.RequestContext:
    """Return an administrator's context with a token.

    Nova passes the token and its catalog on in its messages, like a user's.

    :raises: CloudRefused if no credentials are configured
    :raises: CloudUnavailable if keystone gives no token
    """
    if not are_configured():
        raise exception.CloudRefused(
            what='[service_user] of Nova', reason='it is not configured'
        )
    access = _access()
    return nova_context.RequestContext(
        user_id=access.user_id,
        project_id=access.project_id,
        roles=access.role_names,
        auth_token=access.auth_token,
        service_catalog=_catalog(access.service_catalog.catalog),
        is_admin=True,
        overwrite=False,
    )


def context_for_deletions() -> nova_context.RequestContext:
    """Return an administrator's context, with a token if the token may also
    delete ports.

    If the context has a token, Nova uses it for Neutron and Cinder. Otherwise
    Nova uses the credentials in [neutron] and [cinder]. Few clouds have the
    latter; without them volumes stay attached to the server that is gone. To
    Neutron, whoever has the role ``admin`` is an administrator.

    :raises: CloudUnavailable if keystone gives no token
    """
    if are_configured():
        acting = context()
        if any(role.lower() == ADMIN for role in acting.roles):
            return acting
    return nova_context.get_admin_context()


def _access() -> Any:
    try:
        return plugin().get_access(
            loading.load_session_from_conf_options(CONF, GROUP)
        )
    except ks_exc.ClientException as error:
        raise errors.of_session('Keystone', error) from error


def _catalog(services: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return keystone's catalog in the older format that contexts have."""
    catalog = []
    for service in services:
        regions: dict[str, dict[str, Any]] = defaultdict(dict)
        for endpoint in service['endpoints']:
            region = endpoint.get('region_id') or endpoint.get('region')
            regions[region][f'{endpoint["interface"]}URL'] = endpoint['url']
        catalog.append(
            {
                'type': service['type'],
                'name': service.get('name', ''),
                'endpoints': [
                    {'region': region, **urls}
                    for region, urls in regions.items()
                ],
            }
        )
    return catalog

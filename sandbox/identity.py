# SPDX-License-Identifier: Apache-2.0
"""Fill a new keystone with what the sandbox's services and users need.

This uses keystone's own managers rather than its API, so that all of it exists
before keystone answers the first request.
"""

from typing import Any
import uuid

from keystone.cmd import bootstrap
from keystone.common import provider_api
import keystone.server

from sandbox import layout as lo

PROVIDERS = provider_api.ProviderAPIs


def fill(layout: lo.Layout) -> None:
    """Create users, projects, roles and the catalog in an empty database."""
    keystone.server.configure(config_files=[f'{layout.etc}/keystone.conf'])
    bootstrapper = bootstrap.Bootstrapper()
    bootstrapper.admin_username = bootstrapper.admin_password = 'admin'
    bootstrapper.project_name = bootstrapper.admin_role_name = 'admin'
    bootstrapper.service_name = 'keystone'
    bootstrapper.region_id = lo.REGION
    bootstrapper.public_url = bootstrapper.internal_url = layout.auth_url
    bootstrapper.bootstrap()

    domain = bootstrapper.default_domain_id
    roles = {
        role['name']: role['id'] for role in PROVIDERS.role_api.list_roles()
    }
    projects: dict[str, str] = {}
    for name, (project, granted) in lo.USERS.items():
        if project not in projects:
            projects[project] = _create_project(project, domain)
        user = PROVIDERS.identity_api.create_user(
            {
                'name': name,
                'password': name,
                'domain_id': domain,
                'enabled': True,
            }
        )
        for role in granted:
            PROVIDERS.assignment_api.add_role_to_user_and_project(
                user['id'], projects[project], roles[role]
            )
        if name in lo.READERS_OF_ALL:
            PROVIDERS.assignment_api.create_system_grant_for_user(
                user['id'], roles['reader']
            )
        if name in lo.MEMBERS_OF_ALL:
            PROVIDERS.assignment_api.create_grant(
                roles['member'],
                user_id=user['id'],
                domain_id=domain,
                inherited_to_projects=True,
            )
    for type_, url in layout.catalog().items():
        _create_service(type_, url)


def _create_project(name: str, domain: str) -> str:
    project: dict[str, Any] = {
        'id': uuid.uuid4().hex,
        'name': name,
        'domain_id': domain,
        'enabled': True,
    }
    PROVIDERS.resource_api.create_project(project['id'], project)
    return str(project['id'])


def _create_service(type_: str, url: str) -> None:
    service = {
        'id': uuid.uuid4().hex,
        'type': type_,
        'name': type_,
        'enabled': True,
    }
    PROVIDERS.catalog_api.create_service(service['id'], service)
    for interface in ('public', 'internal'):
        endpoint = {
            'id': uuid.uuid4().hex,
            'interface': interface,
            'region_id': lo.REGION,
            'service_id': service['id'],
            'url': url,
            'enabled': True,
        }
        PROVIDERS.catalog_api.create_endpoint(endpoint['id'], endpoint)

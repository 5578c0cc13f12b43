# SPDX-License-Identifier: Apache-2.0
"""Sections of oslo.config files, and what those of all services have alike."""

from collections.abc import Mapping

from sandbox import layout as lo

#: A tuple gives an option several times.
Value = str | int | float | bool | tuple[str, ...]

#: Section -> option -> value.
Sections = dict[str, Mapping[str, Value]]


def text(sections: Sections) -> str:
    """Return the text of a file of these."""
    lines = []
    for section, options in sections.items():
        lines.append(f'[{section}]')
        for option, value in options.items():
            values = value if isinstance(value, tuple) else (value,)
            lines += [f'{option} = {each}' for each in values]
        lines.append('')
    return '\n'.join(lines)


def credentials(layout: lo.Layout, user: str) -> dict[str, Value]:
    """Return how a service authenticates as this user."""
    return {
        'auth_type': 'password',
        'auth_url': layout.auth_url,
        'username': user,
        'password': user,
        'user_domain_name': 'Default',
        'project_name': 'service',
        'project_domain_name': 'Default',
        'region_name': lo.REGION,
    }


def authtoken(layout: lo.Layout, user: str) -> dict[str, Value]:
    """Return how an API has tokens validated."""
    return credentials(layout, user) | {
        'www_authenticate_uri': layout.url('keystone'),
        'service_token_roles_required': True,
    }


def database(layout: lo.Layout, name: str, kept: int = 2) -> dict[str, Value]:
    """Return how a service reaches its database, and keeps how many
    connections."""
    return {
        'connection': layout.database(name),
        # Of 151 that MariaDB takes, unless it is told to take more, each of
        # some 15 processes would keep 5 for each of 3 databases.
        'max_pool_size': kept,
        # It need not outlive the machine.
        'sqlite_synchronous': False,
    }


def merged(first: Sections, second: Sections) -> Sections:
    """Return the options of both; where both have one, the second's."""
    return {
        section: {**first.get(section, {}), **second.get(section, {})}
        for section in first | second
    }

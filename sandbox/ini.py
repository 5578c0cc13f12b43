# SPDX-License-Identifier: Apache-2.0
"""Sections of oslo.config files, and the sections that all services share."""

from collections.abc import Mapping

from sandbox import layout as lo

#: A tuple gives an option several times.
Value = str | int | float | bool | tuple[str, ...]

#: Section -> option -> value.
Sections = dict[str, Mapping[str, Value]]


def text(sections: Sections) -> str:
    """Return the text of a file with these sections."""
    lines = []
    for section, options in sections.items():
        lines.append(f'[{section}]')
        for option, value in options.items():
            values = value if isinstance(value, tuple) else (value,)
            lines += [f'{option} = {each}' for each in values]
        lines.append('')
    return '\n'.join(lines)


def credentials(layout: lo.Layout, user: str) -> dict[str, Value]:
    """Return the options by which a service authenticates as this user."""
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
    """Return the options by which an API validates tokens."""
    return credentials(layout, user) | {
        'www_authenticate_uri': layout.url('keystone'),
        'service_token_roles_required': True,
    }


def database(layout: lo.Layout, name: str, kept: int = 2) -> dict[str, Value]:
    """Return the options by which a service reaches its database, with the
    number of connections that it keeps."""
    return {
        'connection': layout.database(name),
        # By default MariaDB accepts 151 connections, and some 15 processes
        # would each keep 5 to each of 3 databases.
        'max_pool_size': kept,
        # The data need not survive a crash of the machine.
        'sqlite_synchronous': False,
    }


def merged(first: Sections, second: Sections) -> Sections:
    """Return the options of both; the second's take precedence."""
    return {
        section: {**first.get(section, {}), **second.get(section, {})}
        for section in first | second
    }

# SPDX-License-Identifier: Apache-2.0
"""Nova's personas, and the path of the API, which all rules share."""

from oslo_policy import policy

# Rules of these names are Nova's own.
ADMIN = 'rule:context_is_admin'
PROJECT_MEMBER_OR_ADMIN = 'rule:project_member_or_admin'
PROJECT_READER_OR_ADMIN = 'rule:project_reader_or_admin'


def rule(
    name: str, check_str: str, description: str, *operations: tuple[str, str]
) -> policy.DocumentedRuleDefault:
    """:param operations: pairs of a method and a path below the mount."""
    return policy.DocumentedRuleDefault(
        name=name,
        check_str=check_str,
        description=description,
        operations=[
            {'method': method, 'path': '/os-reservations/v1' + path}
            for method, path in operations
        ],
        scope_types=['project'],
    )

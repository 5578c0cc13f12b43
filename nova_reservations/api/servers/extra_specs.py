# SPDX-License-Identifier: Apache-2.0
"""Validators of our extra specs, which Nova's API loads by the entry point
nova.api.extra_spec_validators."""

from nova.api.validation.extra_specs import base

from nova_reservations.tracking import extra_specs
from nova_reservations.tracking import stats


def register() -> list[base.ExtraSpecValidator]:
    return [
        base.ExtraSpecValidator(
            name=f'{extra_specs.PREFIX}{{resource}}',
            description=(
                'How much of a resource a server takes, by the name of the '
                'resource plugin that tracks it, in the unit of that plugin. '
                'Only hosts that report enough of it will do. Wants '
                'ResourceFilter of nova_reservations in nova-scheduler, and '
                'the plugin in nova-compute.'
            ),
            value={'type': str, 'pattern': extra_specs.AMOUNT},
            parameters=[
                {'name': 'resource', 'pattern': stats.NAME.pattern},
            ],
        )
    ]

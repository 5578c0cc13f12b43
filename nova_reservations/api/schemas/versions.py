# SPDX-License-Identifier: Apache-2.0
from nova_reservations.api import validation
from nova_reservations.api.schemas import parameters

_VERSION = {
    'title': 'Version',
    **parameters.exactly(
        id={'type': 'string'},
        status={'const': 'CURRENT'},
        min_version={'type': 'string'},
        max_version={'type': 'string'},
        links={
            'type': 'array',
            'items': parameters.exactly(
                rel={'const': 'self'}, href={'type': 'string', 'format': 'uri'}
            ),
        },
    ),
}

INDEX_RESPONSE = validation.Schema(
    parameters.exactly(versions={'type': 'array', 'items': _VERSION})
)
SHOW_RESPONSE = validation.Schema(parameters.exactly(version=_VERSION))

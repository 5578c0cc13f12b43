# SPDX-License-Identifier: Apache-2.0
from nova_reservations.api.schemas import parameters

_VERSION = parameters.exactly(
    'Version',
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
)

INDEX_RESPONSE = parameters.answer(
    versions={'type': 'array', 'items': _VERSION}
)
SHOW_RESPONSE = parameters.answer(version=_VERSION)

# SPDX-License-Identifier: Apache-2.0
from nova_reservations.api import validation
from nova_reservations.api.schemas import parameters

_CODE = {'type': 'integer', 'minimum': 400, 'maximum': 599}
_MESSAGE = {'type': 'string', 'minLength': 1}

# As Blazar has them: of what was asked for, and of the request itself.
RESPONSE = validation.Schema(
    {
        'title': 'Refusal',
        'oneOf': [
            parameters.exactly(
                error_code=_CODE, error_name=_CODE, error_message=_MESSAGE
            ),
            parameters.exactly(error=_CODE, error_message=_MESSAGE),
        ],
    }
)

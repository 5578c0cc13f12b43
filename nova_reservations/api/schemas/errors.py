# SPDX-License-Identifier: Apache-2.0
from nova_reservations.api import cases
from nova_reservations.api import validation
from nova_reservations.api.schemas import parameters

_CODE = {'type': 'integer', 'minimum': 400, 'maximum': 599}
_MESSAGE = {'type': 'string', 'minLength': 1}
_KIND = {
    'enum': sorted({case.kind for case in cases.CASES.values()}),
    'description': 'the kind of the refusal, whatever its status is',
}

# Both formats of Blazar: errors of the operation, and of the request itself.
RESPONSE = validation.Schema(
    {
        'title': 'Refusal',
        'oneOf': [
            parameters.requiring(
                [
                    'error_code',
                    'error_name',
                    'error_kind',
                    'error_message',
                ],
                error_code=_CODE,
                error_name=_CODE,
                error_kind=_KIND,
                error_message=_MESSAGE,
                earliest_start={
                    **parameters.SHOWN_DATE,
                    'description': 'when a lease that is refused for '
                    'want of resources would find enough for as long, '
                    'if that is known',
                },
                latest_end={
                    **parameters.SHOWN_DATE,
                    'description': 'until when a lease can be prolonged '
                    'that can not be for as long as was asked, if that '
                    'is known',
                },
            ),
            parameters.exactly(error=_CODE, error_message=_MESSAGE),
        ],
    }
)

# SPDX-License-Identifier: Apache-2.0
from nova_reservations.api import validation

SHOW_RESPONSE = validation.Schema(
    {
        'type': 'object',
        'properties': {'openapi': {'const': '3.1.0'}},
        'required': ['openapi', 'info', 'paths'],
    }
)

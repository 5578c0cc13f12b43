# SPDX-License-Identifier: Apache-2.0
from nova_reservations.api import validation
from nova_reservations.api.schemas import hosts
from nova_reservations.api.schemas import parameters
from nova_reservations.objects import states

_NOTHING = {'type': ['object', 'null'], 'maxProperties': 0}

ACTION = validation.Schema(
    {
        'title': 'HostAction',
        **parameters.optional(
            cordon={
                **_NOTHING,
                'description': 'no new lease gets the host; those that have '
                'not begun get others, if there are any',
            },
            uncordon={
                **_NOTHING,
                'description': 'new leases may get it again',
            },
            drain={
                'type': ['object', 'null'],
                'properties': {
                    'servers': {
                        'enum': ['migrate', 'list'],
                        'description': 'whether servers of these leases are '
                        'moved to the other host, live if they run; by '
                        'default they stay',
                    }
                },
                'additionalProperties': False,
                'description': 'as cordon; leases that have begun get others, '
                'too',
            },
            maintain={
                **parameters.exactly(
                    **{'from': parameters.DATE, 'until': parameters.DATE}
                ),
                'description': 'no lease has it in this window',
            },
        ),
        'minProperties': 1,
        'maxProperties': 1,
    }
)

ACTION_RESPONSE = parameters.answer(
    host=hosts.HOST,
    lease_id={
        'type': ['string', 'null'],
        'description': 'the lease that is the window of maintenance: '
        'shorten, prolong or delete it as any other',
    },
    servers={
        'type': 'array',
        'items': parameters.UUID,
        'description': 'of whomever, on a host that is drained',
    },
    leases={
        'type': 'array',
        'description': 'those that have the host still',
        'items': parameters.exactly(
            id=parameters.UUID,
            project_id={'type': 'string'},
            status={'enum': [*states.Lease]},
            start_date=parameters.SHOWN_DATE,
            end_date=parameters.SHOWN_DATE,
            leaving={
                'type': 'boolean',
                'description': 'it has another host, and servers of it '
                'may still be on this one',
            },
            reason={
                'type': ['string', 'null'],
                'description': 'why servers of it could not be moved: '
                'they are tried again if it is drained again',
            },
        ),
    },
)

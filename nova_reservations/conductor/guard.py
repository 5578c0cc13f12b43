# SPDX-License-Identifier: Apache-2.0
"""Alternates: hosts that nova-conductor claims by itself.

If a build, a resize or a cold migration fails on its host, Nova takes the next
of the alternates that nova-scheduler has named, however long ago, and runs no
filter again. An alternate that was enrolled meanwhile, or has left the
reservation, is refused here, and Nova takes the next one. The reservation is
the one in the hint, or the one that nova-scheduler has written into the claim.

A live migration or an evacuation by force is claimed here, too. nova-api
refuses both to hosts that are already enrolled; a host that was enrolled since
then is refused here.
"""

from collections.abc import Callable
from typing import Any

from nova import exception as nova_exception
from nova.scheduler import utils
import wrapt

from nova_reservations import hooks
from nova_reservations.cloud.placement import claims


def install(scheduler_utils: Any = utils) -> None:
    """Look after each claim; once per process.

    :param scheduler_utils: the module in which nova-conductor finds the
        functions that claim
    """
    wrapt.wrap_function_wrapper(scheduler_utils, 'claim_resources', _claim)
    wrapt.wrap_function_wrapper(
        scheduler_utils, 'claim_resources_on_destination', _claim_by_force
    )


def _claim(
    wrapped: Callable[..., bool], _: Any, args: Any, kwargs: Any
) -> bool:
    if not wrapped(*args, **kwargs):
        return False
    claim = hooks.arguments(wrapped, args, kwargs)
    request_spec = claim['spec_obj']
    if utils.request_is_rebuild(request_spec):
        return True
    asked = claim['alloc_req']
    return claims.stands(
        claim['instance_uuid'],
        asked['allocations'],
        lambda: claims.refusal(
            asked['allocations'],
            claims.hint(request_spec) or claims.name(asked),
        ),
    )


def _claim_by_force(
    wrapped: Callable[..., None], _: Any, args: Any, kwargs: Any
) -> None:
    """Refuse hosts of the pool, whichever reservation the server was created
    in.

    :raises: NoValidHost, as Nova does where there is no room
    """
    wrapped(*args, **kwargs)
    claim = hooks.arguments(wrapped, args, kwargs)
    server, host = claim['instance'].uuid, claim['dest_node']
    # Only the provider is known here, not the claimed amounts: slots can't be
    # claimed by force.
    claimed: claims.Claimed = {host.uuid: {'resources': {}}}
    if not claims.stands(
        server, claimed, lambda: claims.refusal(claimed, None)
    ):
        raise nova_exception.NoValidHost(
            reason=f'Unable to move instance {server} to host {host.host} '
            'by force: it is for servers of reservations only.'
        )

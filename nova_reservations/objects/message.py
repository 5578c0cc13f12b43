# SPDX-License-Identifier: Apache-2.0
"""Messages that tell people or services of an event of a lease."""

import dataclasses
import datetime

from nova_reservations.objects import states


@dataclasses.dataclass(frozen=True, slots=True)
class Message:
    """A message that is to be sent, and what must hold for it to be true.

    :ivar id: the same if a worker repeats what another one has left half
        done, so that receivers recognise a repetition.
    :ivar action: the name of the event action that sends it.
    :ivar destination: where to, in words of the action, without credentials;
        what one destination does not answer keeps nothing from others.
    :ivar body: what is sent, in the form that the action has chosen.
    :ivar event_time: when the event that it tells of was due; end_date: the
        end of the lease by then; chosen: what the reservation asked for.
    """

    id: str
    lease_id: str
    reservation_id: str
    action: str
    destination: str
    body: str
    event_type: states.EventType
    event_time: datetime.datetime
    end_date: datetime.datetime
    chosen: str | None

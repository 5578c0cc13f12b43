# SPDX-License-Identifier: Apache-2.0
"""Base class of resource types of which something exists as soon as the
request for a lease is answered.

Decision 0065: doc/source/decisions/0065-usable-when-answered
"""

import abc

from nova_reservations.types import base


class MadeAtOnce(base.ResourceType):
    """A type whose reservations have something that the user's next request
    may name, such as a flavor."""

    @abc.abstractmethod
    def make_at_once(self, booking: base.Booking) -> None:
        """Make the part of prepare() that requests name.

        Called in nova-api after the booking of a lease that is to be prepared
        or started now, and before the answer, which waits for it a short time
        only. The booking has no resources. Workers may prepare or start the
        lease meanwhile, and do whatever this leaves undone; end() undoes it.

        :raises: CloudRefused, CloudUnavailable; they are logged
        """

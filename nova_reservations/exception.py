# SPDX-License-Identifier: Apache-2.0
"""Every exception, one for each cause that a caller can act on.

``api/faults.py`` decides the HTTP status of each.
"""

from collections.abc import Callable
from collections.abc import Collection
from typing import Any


class ReservationsError(Exception):
    """Base of all; ``msg_fmt`` is filled from the keyword arguments."""

    msg_fmt = 'An unknown reservations error occurred'

    def __init__(self, message: str | None = None, **values: Any) -> None:
        self.values = values
        super().__init__(message or self.msg_fmt % values)

    @property
    def public(self) -> str:
        """The text that a user may read; the rest is for the log."""
        return str(self)


class InvalidInput(ReservationsError):
    """The request can't be understood, whatever the state is."""

    msg_fmt = 'Invalid input: %(reason)s'


class NotFound(ReservationsError):
    """The thing does not exist, or the caller may not know that it does."""

    msg_fmt = '%(kind)s %(id)s could not be found'


class InvalidState(ReservationsError):
    """The request makes sense, but not in the state that the thing is in."""

    msg_fmt = '%(kind)s %(id)s is %(status)s: %(reason)s'


class BeingGivenBack(InvalidState):
    """A worker is just giving back something of the lease, which does not take
    long."""


class InvalidTransition(ReservationsError):
    """A defect: the new state may not follow the old one."""

    msg_fmt = '%(kind)s %(id)s is %(old)s and can not become %(new)s'


class TooLong(ReservationsError):
    """A dry run would take too much CPU."""

    msg_fmt = (
        'It would take too long to find out what the outcome would be: ask '
        'for fewer reservations at once, or send the request itself'
    )


class NotEnoughResources(ReservationsError):
    """The window can't be promised; the message counts the reasons.

    :ivar values: with ``earliest_start`` or ``latest_end``, if it is known
        when the lease would find room.
    """

    msg_fmt = 'Not enough %(what)s available: %(reason)s'

    def __init__(self, message: str | None = None, **values: Any) -> None:
        super().__init__(message, **{'what': 'hosts', **values})


class OverLimit(ReservationsError):
    """The project may not hold so much, or not for so long.

    :ivar values: ``leaving`` is set if leases that are over cause this, until
        they have given back what they hold.
    """

    msg_fmt = 'Over the limit: %(reason)s'


class HostInUse(ReservationsError):
    """Servers or leases hold the host."""

    msg_fmt = 'Host %(host)s is in use: %(reason)s'


class AlreadyEnrolled(ReservationsError):
    msg_fmt = 'Host %(host)s is enrolled already, as host %(id)s'


class ResourceInUse(ReservationsError):
    """Leases hold the resource, or have been promised it."""

    msg_fmt = 'Resource %(name)s is in use: %(reason)s'


class ResourceExists(ReservationsError):
    msg_fmt = (
        'There is a resource %(name)s of type %(type)s already, as resource '
        '%(id)s'
    )


class AmbiguousHost(ReservationsError):
    msg_fmt = (
        '%(count)s compute nodes are named %(name)s: use the UUID of '
        'one of them'
    )


class Conflict(ReservationsError):
    """Another writer was first; the use case starts anew."""

    msg_fmt = '%(kind)s %(id)s was changed meanwhile'


class Crowded(Conflict):
    """There is no room as it is; what is asked for is searched outside of the
    transaction, and the use case starts anew with what was found.

    :ivar search: takes a session that only reads; returns the room, or raises
        the refusal.
    """

    msg_fmt = 'There is no room for lease %(id)s as it is'

    def __init__(self, search: Callable[[Any], Any], **values: Any) -> None:
        super().__init__(**values)
        self.search = search


class Repeated(ReservationsError):
    """A request with the same key was first, and has made its lease."""

    msg_fmt = 'A request with this Idempotency-Key has made a lease already'


class RequestUnderWay(ReservationsError):
    """A request with the same key is not done yet."""

    msg_fmt = (
        'A request with this Idempotency-Key is under way; send it again in '
        'a few seconds'
    )


class KeyReused(ReservationsError):
    """The key belongs to a request with another body."""

    msg_fmt = (
        'This Idempotency-Key was sent with another body: send the same '
        'body, or another key'
    )


class Contended(ReservationsError):
    """Other writers were first too often; the caller may try again."""

    msg_fmt = (
        'Too many requests for the same resources at this moment; '
        'try again in a few seconds'
    )


class DatabaseUnavailable(ReservationsError):
    msg_fmt = 'The database of reservations can not be reached: %(reason)s'

    @property
    def public(self) -> str:
        """Without the driver's words: they name hosts and accounts."""
        return 'The database of reservations can not be reached at this moment'


class DatabaseRefused(DatabaseUnavailable):
    """The database works, and does not let us in."""

    msg_fmt = (
        'The database of reservations refuses the name or the password: '
        '%(reason)s'
    )


class LockedTooLong(DatabaseUnavailable):
    """Another transaction has kept this one waiting for a lock."""

    msg_fmt = 'Another transaction holds what this one needs: %(reason)s'

    @property
    def public(self) -> str:
        return Contended.msg_fmt


class ClocksDisagree(ReservationsError):
    msg_fmt = (
        "The database's clock is %(seconds)d seconds %(direction)s that of "
        'this process: set right the one that is wrong'
    )

    @property
    def public(self) -> str:
        return 'The clocks of the cloud disagree at this moment'


class CloudUnavailable(ReservationsError):
    """Nova's databases, its message bus or placement did not answer."""

    msg_fmt = '%(service)s can not be reached: %(reason)s'

    @property
    def public(self) -> str:
        """Without what the service said: it names hosts and accounts."""
        return f'{self.values["service"]} can not be reached at this moment'


class CredentialsRefused(CloudUnavailable):
    """A service works, and does not let us in."""

    msg_fmt = '%(service)s refuses the name or the password: %(reason)s'


class CloudSlow(CloudUnavailable):
    """A service took longer than it may for all that one request asks."""

    msg_fmt = (
        '%(service)s did not answer within the %(seconds)s seconds that a '
        'request has for it in all: ask for less at once, or try again later'
    )

    @property
    def public(self) -> str:
        return str(self)


class CellUnavailable(CloudUnavailable):
    """The database of a cell did not answer."""

    msg_fmt = 'Cell %(cell)s can not be reached: %(reason)s'

    @property
    def public(self) -> str:
        """Without its name: Nova tells its users of no cells."""
        return 'A cell of the cloud can not be reached at this moment'


class LimitsUnknown(CloudUnavailable):
    """Keystone has never given the limits of a project, and does not answer
    now."""

    msg_fmt = 'Keystone does not tell the limits of a project: %(reason)s'

    @property
    def public(self) -> str:
        return (
            'The limits of this project are not known: keystone can not be '
            'reached at this moment'
        )


class CloudRefused(ReservationsError):
    """Nova or placement answered, and the answer is no."""

    msg_fmt = '%(what)s was refused: %(reason)s'


class ServersRefused(CloudRefused):
    """Nova has failed at some servers of a lease.

    :ivar values: ``told`` is the part of ``reason`` that users may read.
    """

    @property
    def public(self) -> str:
        """Without the words of the services that have failed."""
        return self.msg_fmt % {**self.values, 'reason': self.values['told']}


class NamedResourceTaken(CloudRefused):
    """Somebody else has a resource that was asked for by its name, so that no
    other can be given instead.

    :ivar values: ``resource``.
    """


class HostRefused(CloudRefused):
    """Nova or placement can not use some of the hosts.

    :ivar values: ``hosts`` are their names, or the UUIDs of their providers.
    """

    msg_fmt = 'Host %(named)s was refused: %(reason)s'

    def __init__(self, hosts: Collection[str], reason: str) -> None:
        super().__init__(
            hosts=frozenset(hosts),
            named=', '.join(sorted(hosts)),
            reason=reason,
        )

    @property
    def public(self) -> str:
        """Without names: owners know no hosts."""
        return 'Some of its hosts can not be used at this moment'


class Hopeless(CloudRefused):
    """The lease has lost for good what it consists of, such as all its
    servers."""


class ClaimLost(ReservationsError):
    """Another worker, or a user's request, has taken the lease over."""

    msg_fmt = 'Lease %(id)s is no longer claimed by %(worker)s'


class AttemptLost(ReservationsError):
    """A task took so long that another worker has begun it anew."""

    msg_fmt = 'Another worker has begun the task %(name)s anew'


class InvalidFigures(ReservationsError):
    """A plugin wants to report figures that a scheduler could not read.

    :ivar values: ``plugin`` is its name.
    """

    msg_fmt = 'The figures of %(plugin)s can not be reported: %(reason)s'


class UnreadableStats(ReservationsError):
    """A host's report is foreign, cut off, or of another format."""

    msg_fmt = 'What the host reports of %(plugin)s is not read: %(reason)s'


class UnsupportedNova(SystemExit):
    """This Nova lacks a hook; stevedore lets only SystemExit through."""


class SchemaTooOld(SystemExit):
    """The database is older than this code."""


class Misconfigured(SystemExit):
    """The configuration names something that does not exist, or makes no
    sense: no process can work with it."""


class UnknownResourceType(Misconfigured):
    """The configuration names a resource type that is not installed."""


class UnknownEventAction(Misconfigured):
    """The configuration names an event action that is not installed."""


class ImpossibleDefaults(Misconfigured):
    """The configuration gives servers a lease that they can't have."""


class UnknownDrainStrategy(Misconfigured):
    """The configuration names a strategy that is not installed."""


class UnknownEnforcement(Misconfigured):
    """The configuration names enforcement that is not installed, or that can
    not be made."""


class UnknownRating(Misconfigured):
    """The configuration names rating that is not installed, or that can not be
    made."""


class FilterNotEnabled(SystemExit):
    """The scheduler loads our filter, but does not enable it."""

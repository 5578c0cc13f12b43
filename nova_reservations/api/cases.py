# SPDX-License-Identifier: Apache-2.0
"""The table of refusals: the kind and the HTTP status of each.

Clients branch on statuses, so those where a lease is asked for or changed are
an option: Blazar's answer to what it can not grant is 400, and clients tell
their users of no other.

Decision 0066: doc/source/decisions/0066-what-can-not-be-granted-is-400
"""

from collections.abc import Mapping
import dataclasses

from nova import exception as nova_exception
from oslo_config import cfg

from nova_reservations import exception
from nova_reservations.conf import refusals

NO_ROOM = 'no_room'
OVER_LIMIT = 'over_limit'


@dataclasses.dataclass(frozen=True, slots=True)
class Case:
    """A kind of refusal.

    :ivar kind: its name in answers; programs may branch on it, so it never
        changes.
    :ivar asked: the status where a lease is asked for or changed, unless
        ``[reservations] refusal_statuses`` says otherwise; None: ``status``.
    """

    kind: str
    status: int
    asked: int | None = None


CASES: Mapping[type[Exception], Case] = {
    exception.InvalidInput: Case('invalid_input', 400),
    nova_exception.PolicyNotAuthorized: Case('forbidden', 403),
    exception.OverLimit: Case(OVER_LIMIT, 403, asked=400),
    exception.NotFound: Case('not_found', 404),
    exception.NotEnoughResources: Case(NO_ROOM, 409, asked=400),
    exception.InvalidState: Case('invalid_state', 409),
    exception.BeingGivenBack: Case('invalid_state', 409),
    exception.TooLong: Case('too_long', 409),
    exception.HostInUse: Case('in_use', 409),
    exception.AlreadyEnrolled: Case('exists', 409),
    exception.ResourceInUse: Case('in_use', 409),
    exception.ResourceExists: Case('exists', 409),
    exception.AmbiguousHost: Case('ambiguous', 409),
    exception.Conflict: Case('conflict', 409),
    exception.CloudRefused: Case('cloud_refused', 409),
    exception.RequestUnderWay: Case('under_way', 409),
    exception.KeyReused: Case('key_reused', 422),
    exception.ClocksDisagree: Case('unavailable', 503),
    exception.Contended: Case('contended', 503),
    exception.DatabaseUnavailable: Case('unavailable', 503),
    exception.DatabaseRefused: Case('unavailable', 503),
    exception.LockedTooLong: Case('contended', 503),
    exception.CloudUnavailable: Case('unavailable', 503),
    exception.CredentialsRefused: Case('unavailable', 503),
    exception.CloudSlow: Case('unavailable', 503),
    exception.CellUnavailable: Case('unavailable', 503),
    exception.LimitsUnknown: Case('unavailable', 503),
}
"""Exception -> case; subclasses have the case of their base class."""


DEFECT = Case('defect', 500)
"""The case of every other error; answers do not tell what it is."""


def of(error: Exception) -> Case:
    """Return the case of an error."""
    for cause in type(error).__mro__:
        if cause in CASES:
            return CASES[cause]
    return DEFECT


def where_asked(case: Case, conf: cfg.ConfigOpts) -> int:
    """Return the status of a case where a lease is asked for or changed.

    :param conf: with our options registered
    """
    if conf.reservations.refusal_statuses == refusals.DISTINCT:
        return case.status
    return case.asked or case.status

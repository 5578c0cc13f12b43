# SPDX-License-Identifier: Apache-2.0
"""Tells of servers that use more, or less, than they should; once each."""

from collections.abc import Mapping
import datetime
from typing import Any

from oslo_config import cfg
from oslo_log import log

from nova_reservations.compute.metrics import base
from nova_reservations.compute.metrics import measures
from nova_reservations.compute.metrics import notifications
from nova_reservations.compute.metrics import thresholds

LOG = log.getLogger(__name__)

_HOST = ''


class Threshold(base.UniformPlugin):
    """Notifies of measures that go over or under a limit.

    Limits come from ``[metrics_threshold] limit``, from the extra specs
    ``reservations_limit:NAME`` of flavors and from metadata of that name. A
    notification is emitted only when a limit is crossed.
    """

    wants_metadata = True

    def __init__(
        self,
        host: str,
        conf: cfg.ConfigOpts,
        notify: notifications.Notify = notifications.notify,
    ) -> None:
        super().__init__(host, conf)
        self._notify = notify
        self._subjects: dict[str, thresholds.Subject] = {}
        #: The limits of the configuration, once they are read.
        self._filed: tuple[thresholds.Limit, ...] | None = None
        #: Server, and the limits that it has; until either changes.
        self._limits: dict[
            str, tuple[base.Server | None, tuple[thresholds.Limit, ...]]
        ] = {}

    def on_gone(self, instance: base.Server) -> None:
        self._subjects.pop(instance.uuid, None)
        self._limits.pop(instance.uuid, None)

    def on_reload(self) -> None:
        self._filed = None
        self._limits.clear()

    def on_measured(
        self,
        kind: str,
        instance: base.Server | None,
        measured: Mapping[str, Any],
    ) -> None:
        key = instance.uuid if instance else _HOST
        wanted = [
            limit
            for limit in self._limits_of(key, instance, measured['at'])
            if measures.BY_NAME[limit.measure].kind == kind
        ]
        if not wanted:
            return
        subject = self._subjects.setdefault(key, thresholds.Subject())
        values = {
            measure.name: value
            for measure, value in measures.numbers(kind, measured)
        }
        for limit in wanted:
            if limit.measure not in values:
                continue
            crossing = subject.look(
                limit, values[limit.measure], measured['at']
            )
            if crossing:
                self._tell(instance, crossing, measured['at'])

    def _limits_of(
        self, key: str, server: base.Server | None, at: float
    ) -> tuple[thresholds.Limit, ...]:
        known = self._limits.get(key)
        if known is not None and known[0] is server:
            return known[1]
        # Every audit makes new Server objects, which are mostly equal to the
        # old ones.
        if known is not None and known[0] == server:
            self._limits[key] = (server, known[1])
            return known[1]
        wanted = {
            limit.key: limit
            for limit in self._in_file()
            if limit.is_for(server)
        }
        for limit in self._own(server):
            wanted[limit.key] = limit
        found = tuple(wanted.values())
        self._limits[key] = (server, found)
        if key in self._subjects:
            for crossing in self._subjects[key].keep(found):
                self._tell(server, crossing, at)
        return found

    def _in_file(self) -> tuple[thresholds.Limit, ...]:
        """Return the limits of the configuration; invalid ones are logged
        once."""
        if self._filed is None:
            parsed = []
            for text in self.conf.metrics_threshold.limit:
                try:
                    parsed.append(thresholds.parse(text))
                except thresholds.NotALimit as error:
                    LOG.error(
                        'A limit of [metrics_threshold] is left out: %s',
                        error,
                    )
            self._filed = tuple(parsed)
        return self._filed

    def _own(self, server: base.Server | None) -> list[thresholds.Limit]:
        """Return the limits that come with a server. Those of its metadata are
        last, so that they override others."""
        if server is None:
            return []
        written = _limits_in(server.flavor.extra_specs)
        if self.conf.metrics_threshold.server_metadata:
            written += _limits_in(server.metadata or {})[: thresholds.MOST]
        own = []
        for name, text in written:
            try:
                limit = thresholds.parse(text)
            except thresholds.NotALimit as error:
                # A user's mistake is no error that operators must see.
                LOG.info(
                    'Limit %s of server %s is left out: %s',
                    name,
                    server.uuid,
                    error,
                )
                continue
            if limit.is_for(server):
                own.append(limit)
        return own

    def _tell(
        self,
        server: base.Server | None,
        crossing: thresholds.Crossing,
        at: float,
    ) -> None:
        what = 'exceeded' if crossing.exceeded else 'cleared'
        subject = 'server' if server else 'host'
        limit = crossing.limit
        payload: dict[str, Any] = {
            'host': self.host,
            'measure': limit.measure,
            'unit': measures.BY_NAME[limit.measure].unit,
            'direction': limit.direction,
            'limit': limit.bound,
            'until': limit.until,
            'hold': limit.hold,
            'rule': limit.text,
            'value': crossing.value,
            'exceeded_since': _date(crossing.since),
            'measured_at': _date(at),
        }
        if server:
            payload |= {
                'instance_id': server.uuid,
                'display_name': server.display_name,
                'tenant_id': server.project_id,
                'user_id': server.user_id,
                'flavor': server.flavor.name,
                'node': server.node,
            }
        self._notify(
            f'compute.{self.host}', f'{subject}.metric.{what}', payload
        )


def _limits_in(held: Mapping[str, str]) -> list[tuple[str, str]]:
    return sorted(
        (name, text)
        for name, text in held.items()
        if name.startswith(thresholds.EXTRA_SPEC)
    )


def _date(at: float | None) -> str | None:
    if at is None:
        return None
    return datetime.datetime.fromtimestamp(at, datetime.UTC).isoformat()

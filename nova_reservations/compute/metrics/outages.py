# SPDX-License-Identifier: Apache-2.0
"""Networks that are away for a while: measurements are lost, plugins stay."""

from oslo_log import log

LOG = log.getLogger(__name__)


class Outage:
    """Logs an outage once, until something gets through again.

    :ivar known: whether this batch need not be tried any more.
    """

    def __init__(self, plugin: str) -> None:
        self._plugin = plugin
        self.known = False
        self._told = False

    def failed(self, error: OSError) -> None:
        self.known = True
        if not self._told:
            LOG.warning(
                'The metric plugin %s can not send, and loses what was '
                'measured: %s',
                self._plugin,
                error,
            )
        self._told = True

    def batch_ends(self) -> None:
        """Try again with the next batch."""
        if not self.known:
            self._told = False
        self.known = False

# SPDX-License-Identifier: Apache-2.0
"""Asks the virt driver for what it can tell; for what it can't, only once."""

from collections.abc import Callable
from typing import Any

from nova import exception as nova_exception
from oslo_log import log

from nova_reservations.compute.metrics import driver_stats

LOG = log.getLogger(__name__)

_Way = tuple[str, Callable[[Any], driver_stats.Reading]]
"""Method of the driver, and how to read what it returns."""


class DriverReader:
    def __init__(self, driver: Any) -> None:
        self._driver = driver
        #: The methods that are still tried to measure a server.
        self._ways: list[_Way] = [
            ('get_diagnostics', driver_stats.from_dict),
            ('get_instance_diagnostics', driver_stats.from_object),
        ]
        self._host_tells = True
        self._failed = 0
        self._failing = False

    def server(self, instance: Any) -> driver_stats.Reading | None:
        """Return the driver's measurements of a server; None if it has
        none."""
        useless: list[_Way] = []
        for way in tuple(self._ways):
            method, read = way
            try:
                reading = read(getattr(self._driver, method)(instance))
            except NotImplementedError:
                self._give_up(way)
            except (
                nova_exception.InstanceNotFound,
                nova_exception.InstanceNotRunning,
            ):
                # It is being built, moved or deleted.
                return None
            except Exception as error:
                self._note(method, instance.uuid, error)
                return None
            else:
                if not reading.empty:
                    for name in useless:
                        self._give_up(name)
                    return reading
                # VMware's dict has nothing that we know, its object has.
                useless.append(way)
        return None

    def host_cpu(self) -> dict[str, int] | None:
        """Return ``get_host_cpu_stats`` of the driver, if it has it."""
        if not self._host_tells:
            return None
        try:
            stats: dict[str, int] = self._driver.get_host_cpu_stats()
        except NotImplementedError:
            LOG.info('The virt driver does not tell of the CPUs of the host')
            self._host_tells = False
            return None
        except Exception as error:
            self._note('get_host_cpu_stats', 'the host', error)
            return None
        return stats

    def sum_up(self) -> None:
        """End a round: remember whether anything failed in it."""
        self._failing, self._failed = self._failed > 0, 0

    def _give_up(self, way: _Way) -> None:
        self._ways.remove(way)
        if not self._ways:
            LOG.info('The virt driver does not tell of servers')

    def _note(self, method: str, what: object, error: Exception) -> None:
        """Log a failure; only the first after a round without failures is a
        warning."""
        self._failed += 1
        first = not self._failing and self._failed == 1
        level = log.WARNING if first else log.DEBUG
        LOG.log(level, '%s of %s failed: %s', method, what, error)

# SPDX-License-Identifier: Apache-2.0
"""Our part of nova-scheduler: filters, weighers, and the loop of the engine.

Naming ``host_filter.ReservationFilter`` in ``[filter_scheduler]
available_filters`` is what brings it into the process.
"""

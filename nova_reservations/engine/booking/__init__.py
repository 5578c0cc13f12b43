# SPDX-License-Identifier: Apache-2.0
"""Booking: requests become leases that have resources, within limits."""

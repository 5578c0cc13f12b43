# SPDX-License-Identifier: Apache-2.0
"""Leases that wait for capacity, and their walk in order."""

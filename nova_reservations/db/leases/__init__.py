# SPDX-License-Identifier: Apache-2.0
"""Leases, who may use them, and when each is due."""

# SPDX-License-Identifier: Apache-2.0
"""Leases in requests and answers."""

# SPDX-License-Identifier: Apache-2.0
"""Enforcement: what else must allow a lease, beside policy and limits."""

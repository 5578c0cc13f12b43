# SPDX-License-Identifier: Apache-2.0
"""Enforcement: checks that a lease must pass beside policy and limits."""

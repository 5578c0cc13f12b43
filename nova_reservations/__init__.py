# SPDX-License-Identifier: Apache-2.0
"""Advance reservations for OpenStack, inside Nova."""

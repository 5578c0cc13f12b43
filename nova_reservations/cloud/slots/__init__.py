# SPDX-License-Identifier: Apache-2.0
"""Slots of reservations: resource classes, flavors and server groups."""

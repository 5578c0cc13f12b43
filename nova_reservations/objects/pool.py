# SPDX-License-Identifier: Apache-2.0
"""Pools of Cinder's backends that can be leased, as resources."""

VOLUME = 'virtual:volume'

SIZE = 'VOLUME_GB'
"""The resource class of what a pool has, in GiB."""

VOLUME_TYPE = 'volume_type'
"""The property by which leases ask for some pools and not for others."""

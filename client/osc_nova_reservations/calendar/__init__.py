# SPDX-License-Identifier: Apache-2.0
"""``openstack lease calendar``: leases and hosts, drawn over time."""

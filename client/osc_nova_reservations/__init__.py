# SPDX-License-Identifier: Apache-2.0
"""``openstack lease``: also what python-blazarclient has no words for.

Blazar's ``openstack reservation`` knows these leases as any.
"""

# SPDX-License-Identifier: Apache-2.0
"""``openstack lease``: what python-blazarclient has no words for.

Blazar's ``openstack reservation`` shows and deletes these leases as any.
"""

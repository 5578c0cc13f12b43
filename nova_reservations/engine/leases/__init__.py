# SPDX-License-Identifier: Apache-2.0
"""Use cases of users: leases are made, shown, changed, shared, given back."""

# SPDX-License-Identifier: Apache-2.0
"""Hosts that are emptied of servers for a lease that needs them."""

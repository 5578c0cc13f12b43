# SPDX-License-Identifier: Apache-2.0
"""Hosts, and slots for servers of leases, in Nova."""

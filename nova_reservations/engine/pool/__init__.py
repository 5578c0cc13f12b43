# SPDX-License-Identifier: Apache-2.0
"""Hosts and other resources that can be leased, and those closed to leases."""

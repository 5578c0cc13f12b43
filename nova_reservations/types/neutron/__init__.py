# SPDX-License-Identifier: Apache-2.0
"""Floating IPs and networks in Neutron."""

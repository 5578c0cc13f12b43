# SPDX-License-Identifier: Apache-2.0
"""Failures: they are recorded, and leases get other resources."""

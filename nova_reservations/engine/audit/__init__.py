# SPDX-License-Identifier: Apache-2.0
"""Differences between the database and what services have, and repairs."""

# SPDX-License-Identifier: Apache-2.0
"""Counts of resources over time, for those who plan."""

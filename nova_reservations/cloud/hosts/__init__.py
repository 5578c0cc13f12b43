# SPDX-License-Identifier: Apache-2.0
"""Compute hosts and their aggregates."""

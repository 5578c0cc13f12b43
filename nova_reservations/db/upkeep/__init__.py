# SPDX-License-Identifier: Apache-2.0
"""Queries of operators over all tables: audit, metrics, purge."""

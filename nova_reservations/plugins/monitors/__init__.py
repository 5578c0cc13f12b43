# SPDX-License-Identifier: Apache-2.0
"""Monitors, which report that resources fail and recover."""

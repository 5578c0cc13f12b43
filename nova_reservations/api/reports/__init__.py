# SPDX-License-Identifier: Apache-2.0
"""Limits, usage and demand in answers."""

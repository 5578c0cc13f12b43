# SPDX-License-Identifier: Apache-2.0
"""Monitors: they tell that resources fail and recover."""

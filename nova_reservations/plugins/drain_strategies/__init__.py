# SPDX-License-Identifier: Apache-2.0
"""Strategies that choose the hosts to be emptied."""

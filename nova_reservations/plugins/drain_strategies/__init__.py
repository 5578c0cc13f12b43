# SPDX-License-Identifier: Apache-2.0
"""Strategies by which hosts are chosen to be emptied."""

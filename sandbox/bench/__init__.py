# SPDX-License-Identifier: Apache-2.0
"""Measurements of speed and cost, compared with a floor: the time that Nova
itself takes, in the same run, for a request that only uses its database.
"""

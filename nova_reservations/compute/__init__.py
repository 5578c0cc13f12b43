# SPDX-License-Identifier: Apache-2.0
"""Our part of nova-compute: what operators choose to track and to measure.

There is no database here. What is found out goes to the scheduler with
Nova's own objects.
"""

# SPDX-License-Identifier: Apache-2.0
"""Measurements inside of a process of Nova's: one that runs a probe becomes
such a process.
"""

# SPDX-License-Identifier: Apache-2.0
"""Measurements inside a process of Nova: the process that runs a probe becomes
one of Nova's programs.
"""

# SPDX-License-Identifier: Apache-2.0
"""Stacks in Heat."""

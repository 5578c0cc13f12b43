# SPDX-License-Identifier: Apache-2.0
"""Doubles for the tests of plugins: a cloud in memory, and a clock by hand."""

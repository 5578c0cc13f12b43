# SPDX-License-Identifier: Apache-2.0
"""Placement: providers, and what is claimed of them."""

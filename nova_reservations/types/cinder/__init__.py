# SPDX-License-Identifier: Apache-2.0
"""Volumes, and whole storage pools, in Cinder."""

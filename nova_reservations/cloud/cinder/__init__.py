# SPDX-License-Identifier: Apache-2.0
"""Volumes and their pools in Cinder."""

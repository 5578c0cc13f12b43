# SPDX-License-Identifier: Apache-2.0
"""Blazar's panels of Horizon, in Chromium, on a whole cloud."""

# SPDX-License-Identifier: Apache-2.0
"""Plugins of other packages, as the documentation prints them."""

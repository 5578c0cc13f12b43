# SPDX-License-Identifier: Apache-2.0
"""Servers, in Nova."""

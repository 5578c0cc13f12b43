# SPDX-License-Identifier: Apache-2.0
"""Hosts and other resources in requests and answers."""

# SPDX-License-Identifier: Apache-2.0
"""Requests to Nova's servers API that concern leases."""

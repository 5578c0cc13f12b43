# SPDX-License-Identifier: Apache-2.0
"""Schemas of requests and answers of the lease API."""

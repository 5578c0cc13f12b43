# SPDX-License-Identifier: Apache-2.0
"""Answers of the lease API, as clients read them."""

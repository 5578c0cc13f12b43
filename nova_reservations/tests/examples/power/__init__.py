# SPDX-License-Identifier: Apache-2.0
"""A resource plugin of somebody else's, as an example: both its halves."""

# SPDX-License-Identifier: Apache-2.0
"""Actions that are taken before a lease ends."""

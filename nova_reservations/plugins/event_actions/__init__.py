# SPDX-License-Identifier: Apache-2.0
"""Event actions, which run before a lease ends."""

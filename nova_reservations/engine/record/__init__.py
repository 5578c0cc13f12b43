# SPDX-License-Identifier: Apache-2.0
"""Reports of what was held and used: usage, lease.exists, late servers."""

# SPDX-License-Identifier: Apache-2.0
"""Reports of what was and is: usage, metrics, lease.exists; the purge."""

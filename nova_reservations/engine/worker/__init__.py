# SPDX-License-Identifier: Apache-2.0
"""Workers: they start and end leases, and run periodic tasks."""

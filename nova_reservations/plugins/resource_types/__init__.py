# SPDX-License-Identifier: Apache-2.0
"""Types of resource that can be leased."""

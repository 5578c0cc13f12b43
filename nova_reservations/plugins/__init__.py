# SPDX-License-Identifier: Apache-2.0
"""The types of resource that can be leased."""

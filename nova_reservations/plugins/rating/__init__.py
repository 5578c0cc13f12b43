# SPDX-License-Identifier: Apache-2.0
"""Rating: the amount of money, or of credits, that a lease costs."""

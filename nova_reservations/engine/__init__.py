# SPDX-License-Identifier: Apache-2.0
"""The use cases: each owns its transactions, none knows Nova or HTTP."""

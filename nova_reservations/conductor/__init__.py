# SPDX-License-Identifier: Apache-2.0
"""The guard of claims in nova-conductor, also in those of cells: it asks only
placement."""

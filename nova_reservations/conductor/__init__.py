# SPDX-License-Identifier: Apache-2.0
"""The guard of claims in nova-conductor. It queries only placement, so that it
also works in the conductors of cells."""

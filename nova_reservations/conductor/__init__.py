# SPDX-License-Identifier: Apache-2.0
"""What runs in nova-conductor, also in those of cells: placement is all that
it asks."""

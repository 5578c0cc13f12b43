# SPDX-License-Identifier: Apache-2.0
"""Both halves of a resource plugin of another package, as an example."""

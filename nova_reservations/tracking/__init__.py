# SPDX-License-Identifier: Apache-2.0
"""Words that both halves of resource plugins share."""

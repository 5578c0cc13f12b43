# SPDX-License-Identifier: Apache-2.0
"""The configuration of the release before; it is never edited later."""

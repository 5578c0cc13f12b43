# SPDX-License-Identifier: Apache-2.0
"""The record of what was held and used, and of what was refused."""

# SPDX-License-Identifier: Apache-2.0
"""Holdings: which lease has which resource from when to when; what is left."""

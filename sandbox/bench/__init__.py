# SPDX-License-Identifier: Apache-2.0
"""How fast it is, beside the floor: what Nova itself takes, in the same run,
for something that only touches its database.
"""

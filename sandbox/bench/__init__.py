# SPDX-License-Identifier: Apache-2.0
"""Speed and cost beside the floor: that of Nova itself, in the same run, for
something that only touches its database.
"""

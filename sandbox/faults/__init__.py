# SPDX-License-Identifier: Apache-2.0
"""A cloud whose parts fail, one at a time, while leases start and end."""

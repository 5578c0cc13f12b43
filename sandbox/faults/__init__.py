# SPDX-License-Identifier: Apache-2.0
"""A cloud whose parts fail one by one, while leases start and end."""

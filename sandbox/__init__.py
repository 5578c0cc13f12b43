# SPDX-License-Identifier: Apache-2.0
"""A whole OpenStack on this machine, to try nova_reservations and to show it.

Nothing outside this package imports it. Stories know of the cloud only what
its users know: the URL of keystone, and a password.
"""

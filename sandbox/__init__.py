# SPDX-License-Identifier: Apache-2.0
"""A whole OpenStack on this machine, to try nova_reservations on and to show.

Nothing outside this package imports it. Stories know of the cloud what its
users know: where keystone is, and a password.
"""

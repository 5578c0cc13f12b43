# SPDX-License-Identifier: Apache-2.0
"""The commands ``openstack lease`` of python-openstackclient.

They offer what python-blazarclient has no options for. Its commands,
``openstack reservation``, work on the same leases.
"""

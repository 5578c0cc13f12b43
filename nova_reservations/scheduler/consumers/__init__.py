# SPDX-License-Identifier: Apache-2.0
"""What nova-scheduler knows of the resources that plugins track.

``base`` is what a consumer is written with, ``handler`` loads and calls
them, ``host_states`` has Nova call the handler.
"""

# SPDX-License-Identifier: Apache-2.0
"""The resources that plugins track, as nova-scheduler knows them.

``base`` is what a consumer is written with, ``handler`` loads and calls
them, ``host_states`` has Nova call the handler.
"""

# SPDX-License-Identifier: Apache-2.0
"""Measurements of servers and their host, made in nova-compute for plugins.

``collector`` asks the virt driver, ``plugin_thread`` gives what it found to
each plugin in a thread of its own: neither a slow driver nor a slow plugin
delays Nova's periodic tasks.
"""

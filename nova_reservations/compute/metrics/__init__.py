# SPDX-License-Identifier: Apache-2.0
"""What servers and their host use, measured in nova-compute for plugins.

``collector`` asks the virt driver, ``lanes`` gives what it found to each
plugin in a thread of its own: neither a driver nor a plugin that takes its
time delays Nova's periodic tasks.
"""

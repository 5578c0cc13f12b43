# SPDX-License-Identifier: Apache-2.0
"""Our part of nova-compute: resource plugins and metric plugins.

There is no database here. Reports go to the scheduler with Nova's own objects.
"""

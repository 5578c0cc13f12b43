# SPDX-License-Identifier: Apache-2.0
"""The purge of what is old, and metrics of the service, for operators."""

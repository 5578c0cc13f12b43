# SPDX-License-Identifier: Apache-2.0
"""Types of resources that can be leased: a folder for each service has all
that is special to it."""

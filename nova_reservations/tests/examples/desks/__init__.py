# SPDX-License-Identifier: Apache-2.0
"""A package with a type of resource that is enrolled and audited."""

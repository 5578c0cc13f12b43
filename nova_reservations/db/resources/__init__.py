# SPDX-License-Identifier: Apache-2.0
"""Resources that can be leased: their facts, properties and conditions."""

# SPDX-License-Identifier: Apache-2.0
from nova_reservations.tests.functional.engine.conftest import make_region
from nova_reservations.tests.functional.engine.conftest import region

__all__ = ['make_region', 'region']

# SPDX-License-Identifier: Apache-2.0
from nova_reservations.tests.functional.engine.conftest import make_region
from nova_reservations.tests.functional.engine.conftest import region
from nova_reservations.tests.functional.nova import conftest as on_nova

pytest_runtest_teardown = on_nova.pytest_runtest_teardown

__all__ = ['make_region', 'region']

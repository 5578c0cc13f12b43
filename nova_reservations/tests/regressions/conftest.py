# SPDX-License-Identifier: Apache-2.0
from nova_reservations.tests.functional.engine.conftest import make_region
from nova_reservations.tests.functional.engine.conftest import region
from nova_reservations.tests.functional.nova import conftest as on_nova

shared_nova_is_alone = on_nova.shared_nova_is_alone
shared_nova_is_of_a_module = on_nova.shared_nova_is_of_a_module

__all__ = ['make_region', 'region']

# SPDX-License-Identifier: Apache-2.0
import uuid

from nova_reservations.objects import ids
from nova_reservations.objects import names


def test_ids_are_uuids_of_version_7_as_the_api_spells_them():
    made = ids.new()
    assert uuid.UUID(made).version == 7
    assert names.is_id(made)


def test_ids_are_in_the_order_in_which_they_were_made():
    made = [ids.new() for _ in range(100)]
    assert made == sorted(set(made))

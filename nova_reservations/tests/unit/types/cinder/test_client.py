# SPDX-License-Identifier: Apache-2.0
"""Volumes are read from what Cinder shows."""

from nova_reservations.types.cinder import client as volumes


def shown(key, status, type_name='open', migration_status=None):
    return {
        'id': key,
        'name': None,
        'status': status,
        'size': 1,
        'created_at': '2030-01-01T12:00:00.000000',
        'updated_at': None,
        'attachments': [],
        'volume_type': type_name,
        'migration_status': migration_status,
        'os-vol-host-attr:host': 'storage@files#fast',
    }


def test_administrators_are_shown_where_a_volume_is():
    (one,) = volumes.read([shown('one', 'deleting')])
    assert one.pool == 'storage@files#fast'


def test_a_volume_that_is_retyped_may_get_any_type_unless_it_is_copied():
    at_rest, moved, copied, copy = volumes.read(
        [
            shown('at rest', 'available', migration_status='success'),
            shown('moved', 'retyping'),
            shown('copied', 'retyping', migration_status='migrating'),
            shown('copy', 'creating', 'reservation:a:b', 'target:copied'),
        ]
    )
    assert moved.may_get_any_type
    assert not any(each.may_get_any_type for each in (at_rest, copied, copy))
    assert (copy.reservation_id, copy.pool_uuid) == ('a', 'b')

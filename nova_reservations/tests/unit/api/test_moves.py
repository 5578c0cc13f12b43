# SPDX-License-Identifier: Apache-2.0
from nova.api.openstack import wsgi
import pytest

from nova_reservations.api import moves


def forced(action, microversion, **arguments):
    return moves.forced_target(
        {action: arguments}, moves.Version(microversion)
    )


@pytest.mark.parametrize(
    ('action', 'microversion', 'arguments'),
    [
        ('os-migrateLive', '2.1', {}),
        ('os-migrateLive', '2.29', {}),
        ('os-migrateLive', '2.30', {'force': True}),
        ('os-migrateLive', '2.67', {'force': 'yes'}),
        ('evacuate', '2.1', {}),
        ('evacuate', '2.28', {}),
        ('evacuate', '2.29', {'force': True}),
        ('evacuate', '2.67', {'force': 'True'}),
    ],
)
def test_moves_to_a_host_past_the_scheduler_are_found(
    action, microversion, arguments
):
    assert forced(action, microversion, host='h', **arguments) == 'h'


@pytest.mark.parametrize(
    ('action', 'microversion', 'arguments'),
    [
        ('os-migrateLive', '2.1', {'host': None}),
        ('os-migrateLive', '2.30', {'host': 'h'}),
        ('os-migrateLive', '2.67', {'host': 'h', 'force': False}),
        ('os-migrateLive', '2.67', {'force': True}),
        ('os-migrateLive', '2.68', {'host': 'h'}),
        ('evacuate', '2.1', {}),
        ('evacuate', '2.29', {'host': 'h'}),
        ('evacuate', '2.67', {'host': 'h', 'force': 'false'}),
        ('evacuate', '2.95', {'host': 'h'}),
        # Nova refuses these.
        ('os-migrateLive', '2.90', {'host': 'h', 'force': True}),
        ('evacuate', '2.1', {'host': ['h']}),
        ('migrate', '2.56', {'host': 'h'}),
    ],
)
def test_moves_that_ask_the_scheduler_are_not_meant(
    action, microversion, arguments
):
    assert forced(action, microversion, **arguments) is None


@pytest.mark.parametrize(
    'body',
    [
        None,
        [],
        'evacuate',
        {},
        {'evacuate': None},
        {'evacuate': 'h'},
        {'evacuate': {'host': 'h\x00'}},
        {'evacuate': {'host': 'h' * 256}},
        {'evacuate': {'host': 'h'}, 'os-start': None},
    ],
)
def test_what_nova_refuses_is_left_to_nova(body):
    assert moves.forced_target(body, moves.Version('2.1')) is None


@pytest.mark.parametrize(
    ('script_name', 'headers', 'microversion'),
    [
        ('/v2.1', {}, '2.1'),
        ('/v2.1', {'OpenStack-API-Version': 'compute 2.42'}, '2.42'),
        ('/v2.1', {'X-OpenStack-Nova-API-Version': '2.42'}, '2.42'),
        ('/v2', {'OpenStack-API-Version': 'compute 2.42'}, '2.1'),
        ('/compute/v2', {'X-OpenStack-Nova-API-Version': 'latest'}, '2.1'),
    ],
)
def test_the_microversion_is_the_one_that_nova_will_take(
    script_name, headers, microversion
):
    request = wsgi.Request.blank('/', headers=headers)
    request.script_name = script_name
    assert moves.version(request) == moves.Version(microversion)


@pytest.mark.parametrize('asked', ['compute 1.0', 'compute 99.1', 'compute x'])
def test_a_microversion_that_nova_refuses_is_left_to_nova(asked):
    assert (
        moves.version(
            wsgi.Request.blank('/', headers={'OpenStack-API-Version': asked})
        )
        is None
    )

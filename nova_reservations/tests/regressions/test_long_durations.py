# SPDX-License-Identifier: Apache-2.0
"""A lease that may wait, and has a duration of 69 years, was refused with 503,
as if the database could not be reached. The column of seconds has 31 bits on
MariaDB and PostgreSQL. Found in the review of issue 13.
"""

import pytest

from nova_reservations.tests.functional.api.conftest import _nova_conf
from nova_reservations.tests.functional.api.conftest import admin
from nova_reservations.tests.functional.api.conftest import app
from nova_reservations.tests.functional.api.conftest import behind
from nova_reservations.tests.functional.api.conftest import clock
from nova_reservations.tests.functional.api.conftest import cloud
from nova_reservations.tests.functional.api.conftest import enrolled
from nova_reservations.tests.functional.api.conftest import member
from nova_reservations.tests.functional.api.conftest import services
from nova_reservations.tests.functional.api.conftest import settings

__all__ = [
    '_nova_conf',
    'admin',
    'app',
    'behind',
    'clock',
    'cloud',
    'enrolled',
    'member',
    'services',
    'settings',
]


@pytest.fixture
def database(any_database):
    return any_database


def ask(member, lease_type, duration):
    return member(
        'POST',
        '/leases',
        {
            'name': 'mine',
            'start_date': 'now',
            'duration': duration,
            'lease_type': lease_type,
            'reservations': [
                {'resource_type': 'physical:host', 'min': 1, 'max': 1}
            ],
        },
    )


@pytest.mark.usefixtures('enrolled')
def test_a_duration_that_no_column_takes_is_bad_input(member):
    for lease_type in ('retry', 'best_effort'):
        answer = ask(member, lease_type, '24856d')
        assert answer.status_int == 400, answer.text
        assert 'duration' in answer.json['error_message']
        answer = ask(member, lease_type, '24855d')
        assert answer.status_int == 201, answer.text
    # Other lease types do not store their duration in seconds.
    assert ask(member, 'immediate', '24856d').status_int == 201

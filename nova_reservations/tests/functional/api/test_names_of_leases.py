# SPDX-License-Identifier: Apache-2.0
import pytest

from nova_reservations import exception
from nova_reservations.api.schemas import leases as schemas

pytestmark = pytest.mark.usefixtures('enrolled')


@pytest.mark.parametrize(
    'name', ['\x1b[31mred', 'a\nb', 'a\n', ' a', 'a\u200b', '\u202ea', ' ']
)
def test_a_name_that_nova_gives_no_server_is_refused(member, name):
    lease = member.lease()
    for answer in (
        member('POST', '/leases', {'name': name, 'start_date': 'now'}),
        member('PUT', f'/leases/{lease["id"]}', {'name': name}),
    ):
        assert answer.status_int == 400
        assert 'printable characters' in answer.json['error_message']
    with pytest.raises(exception.InvalidInput, match='printable'):
        schemas.LEASE_PARAMS.check({'name': name})


def test_a_name_that_nova_gives_a_server_is_accepted(member):
    name = 'Vorführung der 東京 group, 1/2 & <b>'
    assert member.lease(name=name)['name'] == name

# SPDX-License-Identifier: Apache-2.0
"""The URL of the database server that the processes of a sandbox get."""

import pytest
import sqlalchemy as sa

from sandbox import layout


@pytest.mark.parametrize(
    'server, options',
    [
        ('mysql+pymysql://root@127.0.0.1:3306', {'ssl_disabled': 'true'}),
        ('mysql+pymysql://root@127.0.0.1/?ssl_ca=ca', {'ssl_ca': 'ca'}),
        ('mysql+pymysql://root:secret@db.example.org', {}),
        ('postgresql+psycopg2://postgres@127.0.0.1:5432', {}),
    ],
)
def test_only_mariadb_on_this_machine_is_used_without_tls(
    tmp_path, server, options
):
    sandbox = layout.Layout(tmp_path / 'sandbox-1', {}, server)
    found = sa.make_url(sandbox.database('nova'))
    assert found.query == options
    assert found.database == 'sandbox_1_nova'
    assert found.set(database='', query={}) == sa.make_url(server).set(
        database='', query={}
    )

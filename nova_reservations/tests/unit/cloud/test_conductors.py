# SPDX-License-Identifier: Apache-2.0
import socket
import types

from nova import rpc
from oslo_config import cfg
import oslo_messaging
from oslo_messaging import conffixture
import pytest

from nova_reservations.cloud import conductors
from nova_reservations.conductor import answer


@pytest.fixture
def serve():
    """Start a nova-conductor's server of messages."""
    conf = cfg.ConfigOpts()
    conffixture.ConfFixture(conf)
    transport = oslo_messaging.get_rpc_transport(conf, 'fake:/')
    servers = []

    def start(host, *endpoints):
        server = oslo_messaging.get_rpc_server(
            transport,
            oslo_messaging.Target(topic=conductors.TOPIC, server=host),
            [types.SimpleNamespace(), *endpoints],
            serializer=rpc.RequestContextSerializer(None),
        )
        server.start()
        servers.append(server)

    start.transport = transport
    yield start
    for server in servers:
        server.stop()
        server.wait()


def test_conductors_say_whether_they_are_guarded(serve):
    serve('guarded', answer.Endpoint())
    serve('older')
    asked = [
        conductors.Conductor(host, 'cell', serve.transport)
        for host in ('guarded', 'older', 'stopped')
    ]
    said = conductors.ask(asked, seconds=0.5)
    assert [each.name for _, each in said] == [
        'GUARDED',
        'NOT_GUARDED',
        'NOTHING',
    ]


@pytest.mark.parametrize(
    ('service', 'answers'), [('conductor', 1), ('compute', 0)]
)
def test_managers_of_conductors_answer(service, answers):
    manager = types.SimpleNamespace(
        service_name=service, additional_endpoints=[]
    )
    answer._made(lambda: None, manager, (), {})
    assert len(manager.additional_endpoints) == answers


def test_hosts_of_the_bus_that_refuse_connections_are_named(monkeypatch):
    with socket.create_server(('127.0.0.1', 0)) as listening:
        up = listening.getsockname()[1]
        cells = [
            types.SimpleNamespace(transport_url=url, name='one', uuid='x')
            for url in (
                'none:///',
                f'rabbit://u:p@127.0.0.1:{up},u:p@127.0.0.1:1//',
            )
        ]
        monkeypatch.setattr(
            conductors,
            'objects',
            types.SimpleNamespace(
                CellMappingList=types.SimpleNamespace(get_all=lambda _: cells)
            ),
        )
        [lost] = conductors.unreachable()
    assert lost.address == '127.0.0.1:1'
    assert lost.reason
    assert lost.configured == ['cell one']

# SPDX-License-Identifier: Apache-2.0
import logging

import pytest

from nova_reservations.compute.metrics import threshold
from nova_reservations.tests.unit.compute.metrics import builders

OVER_90 = 'cpu.percent over 90'


class Watched:
    """A plugin, with its configured limits, and the events it emitted."""

    def __init__(self, *limits, **options):
        self.conf = builders.make_conf(
            metrics_threshold={'limit': list(limits), **options}
        )
        self.emitted = []
        self.plugin = threshold.Threshold(
            'host1', self.conf, lambda *event: self.emitted.append(event)
        )
        self.at = 0

    def see(self, server, *percents):
        """Return the events that these percents, a minute apart, cause."""
        self.emitted.clear()
        for percent in percents:
            self.at += 60
            self.plugin.on_cpu(server, builders.make_cpu(percent, self.at))
        return [event for _, event, _ in self.emitted]

    def change(self, *limits):
        self.conf.set_override('limit', list(limits), 'metrics_threshold')
        self.plugin.on_reload()


EXCEEDED, CLEARED = 'server.metric.exceeded', 'server.metric.cleared'


def test_a_crossing_is_one_notification_with_all_there_is_to_know():
    watched = Watched('cpu.percent over 90 until 80 for 60')
    assert watched.see(builders.make_server(), 50, 95, 99, 99) == [EXCEEDED]
    [(publisher, _, payload)] = watched.emitted
    assert publisher == 'compute.host1'
    assert payload == {
        'host': 'host1',
        'node': 'host1',
        'instance_id': 'server-1',
        'display_name': 'web',
        'tenant_id': 'project-1',
        'user_id': 'user-1',
        'flavor': 'm1.large',
        'measure': 'cpu.percent',
        'unit': '%',
        'direction': 'over',
        'limit': 90,
        'until': 80,
        'hold': 60,
        'rule': 'cpu.percent over 90 until 80 for 60',
        'value': 99,
        'exceeded_since': '1970-01-01T00:02:00+00:00',
        'measured_at': '1970-01-01T00:03:00+00:00',
    }


def test_the_host_has_limits_of_its_own():
    watched = Watched('host cpu.percent over 90', OVER_90)
    assert watched.see(None, 95) == ['host.metric.exceeded']
    assert 'instance_id' not in watched.emitted[0][2]


def test_servers_stand_for_themselves():
    watched = Watched(OVER_90)
    assert watched.see(builders.make_server('a'), 95) == [EXCEEDED]
    assert watched.see(builders.make_server('b'), 50) == []
    assert watched.see(builders.make_server('b'), 95) == [EXCEEDED]


def test_a_limit_that_is_raised_is_obeyed_after_a_reload():
    watched, server = Watched(OVER_90), builders.make_server()
    watched.see(server, 95)
    watched.change('cpu.percent over 97')
    assert watched.see(server, 95, 96, 98) == [CLEARED, EXCEEDED]


def test_a_limit_that_is_taken_away_is_cleared():
    watched, server = Watched(OVER_90), builders.make_server()
    watched.see(server, 95)
    watched.change()
    assert watched.see(server, 95, 95) == [CLEARED]


@pytest.mark.parametrize('where', ['extra_specs', 'metadata'])
def test_a_server_brings_limits_of_its_own(where):
    watched = Watched()
    held = {'reservations_limit:cpu': OVER_90, 'cpu': 'cpu.percent over 1'}
    server = builders.make_server(**{where: held})
    assert watched.see(server, 80, 95) == [EXCEEDED]


def test_limits_of_a_server_are_live():
    """An audit may find new metadata, or a new flavor after a resize."""
    watched = Watched()
    key = 'reservations_limit:cpu'
    before = builders.make_server(metadata={key: OVER_90})
    after = builders.make_server(metadata={key: 'cpu.percent over 50'})
    assert watched.see(before, 80) == []
    assert watched.see(after, 80) == [EXCEEDED]
    assert watched.see(builders.make_server(metadata={}), 80) == [CLEARED]


def test_a_servers_own_limit_goes_before_those_of_its_flavor_and_the_file():
    watched = Watched('cpu.percent over 10')
    key = 'reservations_limit:cpu'
    server = builders.make_server(
        extra_specs={key: 'cpu.percent over 20'}, metadata={key: OVER_90}
    )
    assert watched.see(server, 80) == []


def test_users_set_no_limits_where_the_operator_says_so():
    watched = Watched(server_metadata=False)
    server = builders.make_server(metadata={'reservations_limit:cpu': OVER_90})
    assert watched.see(server, 95) == []


def test_users_set_no_more_than_eight_limits_and_none_of_the_host():
    watched = Watched()
    many = {
        f'reservations_limit:{number:02}': (
            f'cpu.percent over 1 where user=user-1 and name={"?" * 3}'
            + ' and name=web' * number
        )
        for number in range(20)
    }
    server = builders.make_server(metadata=many)
    assert watched.see(server, 95) == [EXCEEDED] * 8
    watched = Watched()
    server = builders.make_server(
        metadata={'reservations_limit:x': f'host {OVER_90}'}
    )
    assert watched.see(server, 95) == watched.see(None, 95) == []


def test_text_that_is_no_limit_is_one_line_and_the_others_hold(caplog):
    watched = Watched('cpu.percent over the top', OVER_90)
    caplog.set_level(logging.ERROR)
    for uuid in ('a', 'b'):
        assert watched.see(builders.make_server(uuid), 95) == [EXCEEDED]
    [record] = caplog.records
    assert 'cpu.percent over the top' in record.getMessage()


def test_a_users_mistake_is_no_error_and_no_line_of_its_own(caplog):
    caplog.set_level(logging.INFO)
    watched = Watched(OVER_90)
    server = builders.make_server(
        metadata={'reservations_limit:x': 'nonsense\nERROR all is lost'}
    )
    assert watched.see(server, 95, 95) == [EXCEEDED]
    [record] = caplog.records
    assert record.levelno == logging.INFO
    assert '\n' not in record.getMessage()


def test_a_limit_of_its_own_may_be_for_others():
    watched = Watched()
    server = builders.make_server(
        extra_specs={'reservations_limit:x': f'{OVER_90} where name=db*'}
    )
    assert watched.see(server, 95) == []


def test_a_value_that_is_not_known_crosses_nothing():
    watched, server = Watched(OVER_90), builders.make_server()
    assert watched.see(server, None, 95, None, 95) == [EXCEEDED]


def test_a_server_that_left_is_forgotten():
    watched, server = Watched(OVER_90), builders.make_server()
    watched.see(server, 95)
    watched.plugin.on_gone(server)
    assert watched.see(server, 95) == [EXCEEDED]


def test_cinder_volumes_are_not_counted_twice():
    watched = Watched('volume.read_bytes over 5')
    server = builders.make_server()
    polled = {'at': 1, 'kind': 'volume', 'read_bytes': 10, 'each': {}}
    watched.plugin.on_volume(server, polled)
    assert watched.emitted == []
    watched.plugin.on_volume(server, polled | {'kind': 'disk'})
    assert len(watched.emitted) == 1

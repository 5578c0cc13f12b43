# SPDX-License-Identifier: Apache-2.0
"""Usage of projects and of their leases, on an API in memory."""

from osc_nova_reservations import usage

THEIRS = 'b' * 32

USAGE = {
    'tenant_id': 'ours',
    'start': '2050-12-01T00:00:00.000000',
    'stop': '2051-01-01T00:00:00.000000',
    'total_hours': 10.123456,
    'total_vcpus_usage': 20.0,
    'total_memory_mb_usage': 0.0,
    'total_local_gb_usage': 0.0,
    'reserved': {'VCPU': 20.0, 'SEATS': 1.25, 'physical:host': 5.0},
    'degraded': {},
    'used': {'servers': 3.0},
    'total_amount': '0.20',
    'unit': 'EUR',
    'lease_usages': [
        {
            'lease_id': 'lease',
            'name': 'mine',
            'tenant_id': 'ours',
            'started_at': '2050-12-01T00:00:00.000000',
            'ended_at': None,
            'hours': 10.0,
            'reserved': {'VCPU': 20.0},
            'degraded': {},
            'used': {},
            'amount': None,
            'unit': None,
        }
    ],
}


def test_a_line_is_shown_for_each_project(run, api, identity):
    api.usages = [USAGE]
    [line] = run(usage.ShowUsage, '--all-projects')
    assert line['Hours'] == 10.1235
    assert (line['Host hours'], line['Server hours']) == (5.0, 3.0)
    assert (line['Amount'], line['Unit']) == ('0.20', 'EUR')
    assert line['Other hours'] == 'SEATS: 1.25'
    assert api.queries[-1] == {}


def test_a_line_is_shown_for_each_lease(run, api, identity):
    api.usages = [USAGE]
    words = (f'--project={THEIRS}', '--start=2050-12-01 00:00', '--detailed')
    [line] = run(usage.ShowUsage, *words)
    assert (line['Name'], line['Ended'], line['Amount']) == ('mine', None, '')
    assert line['VCPU hours'] == 20.0
    assert api.queries[-1] == {
        'project_id': [THEIRS],
        'start': ['2050-12-01T00:00:00+00:00'],
        'detailed': ['1'],
    }


def test_a_table_has_what_a_bill_has(run, api, identity):
    api.usages = [USAGE]
    [line] = run(usage.ShowUsage, '--all-projects', '-f', 'table')
    assert [*line] == [
        *('Project', 'Hours', 'Host hours', 'Slot hours', 'Amount', 'Unit'),
    ]
    [line] = run(usage.ShowUsage, '--detailed', '-f', 'table')
    assert [*line] == ['Name', 'Started', 'Ended', 'Hours', 'Amount', 'Unit']
    [line] = run(
        usage.ShowUsage, '--all-projects', '--detailed', '-f', 'table'
    )
    assert line['Project'] == 'ours'

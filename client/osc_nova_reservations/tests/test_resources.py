# SPDX-License-Identifier: Apache-2.0
"""Resources that are no hosts, on an API in memory."""

from osc_nova_reservations import resources

CAD = {
    'id': '7',
    'name': 'cad',
    'inventories': {'SEATS': 4},
    'properties': {},
    'reservable': False,
    'holds': [{'reason': 'cordoned', 'start_date': None, 'end_date': None}],
}


def test_resources_are_listed(run, api):
    api.resources = [CAD]
    [line] = run(resources.ListResource, 'example:licence')
    assert line['Held'] == ['cordoned']
    assert line['Inventories'] == {'SEATS': 4}
    assert api.queries[-1] == {'resource_type': ['example:licence']}
    [line] = run(resources.ListResource, 'example:licence', '-f', 'table')
    assert [*line] == ['Name', 'Inventories', 'Properties', 'Reservable']

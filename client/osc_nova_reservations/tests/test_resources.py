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


def test_a_list_that_is_not_all_is_told_to_have_more(run, api, stderr):
    api.resources = [CAD]
    [line] = run(resources.ListResource, 'example:licence', '--limit=1')
    assert line['Held'].human_readable() == 'cordoned'
    assert line['Inventories'].human_readable() == "SEATS='4'"
    assert 'There are more: --marker 7' in stderr.getvalue()
    assert api.queries[-1] == {
        'resource_type': ['example:licence'],
        'limit': ['1'],
    }

# SPDX-License-Identifier: Apache-2.0
"""Hosts as members list them: all that Blazar shows, but for the names."""

import json

import pytest


def test_a_member_sees_hosts_by_their_numbers(admin, member, enrolled):
    admin('PUT', f'/os-hosts/{enrolled[0]["id"]}', {'rack': 'r7', 'gpu': 'A'})
    admin('PATCH', '/os-hosts/properties/rack', {'private': True})
    listed = member('GET', '/os-hosts').json['hosts']
    assert [host['id'] for host in listed] == [each['id'] for each in enrolled]
    assert listed[0].keys() - enrolled[0].keys() == {'gpu'}
    for host in listed:
        shown = member('GET', f'/os-hosts/{host["id"]}').json['host']
        assert shown == host
        assert host['service_name'] == host['id']
        assert host['hypervisor_hostname'] == host['id']
    text = json.dumps(listed)
    for host in enrolled:
        assert host['service_name'] not in text
        assert host['hypervisor_hostname'] not in text


@pytest.mark.parametrize(
    'query',
    [
        'name=h1',
        'name=moon',
        'sort_key=name',
        'sort_key=hypervisor_hostname',
        'detail=True',
    ],
)
def test_no_list_tells_a_member_the_name_of_a_host(member, enrolled, query):
    assert member('GET', f'/os-hosts?{query}').status_int == 403

# SPDX-License-Identifier: Apache-2.0
"""A host stayed open to everybody after its nova-compute got another name.

The scheduler keeps the names of the enrolled hosts until the pool's counter
moves. A changed name did not move the counter, so the scheduler did not find
the new name in the pool.

Issue 13, item 14.
"""

import dataclasses

from nova_reservations.scheduler import pool


def test_the_scheduler_learns_the_new_name_of_a_service(region):
    known = pool.Pool(region.database)
    assert known.view('lessee').hosts == {'one', 'two', 'three'}
    region.cloud.known['one'] = dataclasses.replace(
        region.cloud.known['one'],
        service_host='renamed',
        provider_generation=99,
    )
    region.hosts.refresh(region.now)
    assert known.view('lessee').hosts == {'renamed', 'two', 'three'}


def test_other_facts_do_not_have_the_names_read_again(region):
    known = pool.Pool(region.database)
    before = known.view('lessee').hosts
    region.cloud.known['one'] = dataclasses.replace(
        region.cloud.known['one'], vcpus=1, provider_generation=99
    )
    region.hosts.refresh(region.now)
    assert known.view('lessee').hosts is before

# SPDX-License-Identifier: Apache-2.0
"""The documentation's example of a type with enrolment and audit, as
printed."""

import pytest

from nova_reservations import exception
from nova_reservations.tests.examples.desks import desks


@pytest.fixture
def office(tmp_path, monkeypatch):
    monkeypatch.setattr(desks.Desk, 'office', tmp_path)
    for name in ('door', 'window'):
        (tmp_path / name).touch()
    return tmp_path


@pytest.fixture
def region(make_region, office):
    region = make_region(types={desks.NAME: desks.Desk}, monitors=[])
    enrol(region, 'window')
    return region


def enrol(region, desk):
    asked = {'desk': desk, 'room': 'north'}
    return region.services.places.enrol(desks.NAME, asked, region.now)


def test_desks_that_are_not_there_or_are_in_use_are_not_enrolled(
    region, office
):
    with pytest.raises(exception.InvalidInput, match='No desk roof'):
        enrol(region, 'roof')
    (office / 'door').write_text('somebody')
    with pytest.raises(exception.InvalidState, match='somebody has it'):
        enrol(region, 'door')
    (office / 'door').write_text('')
    assert enrol(region, 'door').properties == {'room': 'north'}


def test_resource_add_names_what_adds_desks(region):
    with pytest.raises(exception.InvalidInput, match='added by office-desks'):
        region.resources.add(desks.NAME, 'door', region.now)


def test_the_audit_finds_and_mends_what_was_changed(region, office):
    lease = region.lease_of((desks.NAME, {}))
    region.work()
    audit = region.services.audit
    assert [*audit.of_types(region.now)] == []
    (office / 'window').write_text('')
    [finding] = audit.of_types(region.now)
    assert finding.problem == f'Desk window is not with lease {lease.id}'
    finding.repair()
    region.work()
    [reservation] = lease.reservations
    assert (office / 'window').read_text() == reservation.id
    assert [*audit.of_types(region.now)] == []
    region.forward(until=61)
    assert (office / 'window').read_text() == ''

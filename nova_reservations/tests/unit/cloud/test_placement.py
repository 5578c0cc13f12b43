# SPDX-License-Identifier: Apache-2.0
"""Placement fails in several words, and all of them are one exception."""

from keystoneauth1 import exceptions as ks_exc
from nova.scheduler.client import report
from openstack import exceptions as sdk_exc
import pytest

from nova_reservations import exception
from nova_reservations.cloud import placement


@pytest.mark.parametrize(
    'error',
    [
        ks_exc.ConnectFailure('no route'),
        # Of a process that asks for the first time.
        sdk_exc.NotSupported('no route to a supported version'),
    ],
)
def test_a_client_that_can_not_be_made_is_placement_that_is_down(
    monkeypatch, error
):
    def make():
        raise error

    monkeypatch.setattr(report, 'PLACEMENTCLIENT', None)
    monkeypatch.setattr(report, 'SchedulerReportClient', make)
    with pytest.raises(exception.CloudUnavailable, match='no route'):
        placement.ensure_trait()

# SPDX-License-Identifier: Apache-2.0
import datetime
import json
import logging

import pytest
import webob
import webob.exc

from nova_reservations import exception
from nova_reservations.api import cases
from nova_reservations.api import faults

# Exceptions that never reach a request. They end a worker's action or a
# process, occur between a compute host and the scheduler, or are defects.
INTERNAL = {
    exception.ReservationsError,
    exception.AttemptLost,
    exception.ClaimLost,
    exception.Crowded,
    exception.Hopeless,
    exception.HostRefused,
    exception.InvalidFigures,
    exception.InvalidTransition,
    exception.NamedResourceTaken,
    exception.Repeated,
    exception.ServersRefused,
    exception.UnreadableStats,
}


def all_exceptions():
    return [
        item
        for item in vars(exception).values()
        if isinstance(item, type) and issubclass(item, Exception)
    ]


@pytest.mark.parametrize('kind', all_exceptions())
def test_every_exception_has_a_status_or_is_internal(kind):
    assert (kind in cases.CASES) != (kind in INTERNAL)


@pytest.mark.parametrize(
    'status', {case.status for case in cases.CASES.values()}
)
def test_every_status_can_be_said_to_clients_of_nova(status):
    assert status in webob.exc.status_map


def test_a_refusal_has_the_shape_that_clients_of_leases_read():
    answer = faults.response(exception.NotFound(kind='Lease', id='7'), 'req-1')
    assert answer.status_int == 404
    assert answer.json == {
        'error_code': 404,
        'error_name': 404,
        'error_kind': 'not_found',
        'error_message': 'Lease 7 could not be found',
    }


def test_a_refusal_tells_when_there_is_room():
    start = datetime.datetime(2030, 1, 1, 12, tzinfo=datetime.UTC)
    answer = faults.response(
        exception.NotEnoughResources('none is free', earliest_start=start),
        'req-1',
    )
    assert answer.status_int == 409
    assert answer.json['earliest_start'] == '2030-01-01T12:00:00.000000'
    assert 'latest_end' not in answer.json


def test_a_refusal_of_the_request_itself_has_the_other_shape():
    answer = faults.response(
        webob.exc.HTTPMethodNotAllowed(
            'PATCH is not allowed here', headers={'Allow': 'GET'}
        ),
        'req-1',
    )
    assert answer.json == {
        'error': 405,
        'error_message': 'PATCH is not allowed here',
    }
    assert answer.headers['Allow'] == 'GET'


@pytest.mark.parametrize(
    'error',
    [exception.Contended(), exception.DatabaseUnavailable(reason='gone')],
)
def test_an_error_that_may_pass_says_when(error):
    answer = faults.response(error, 'req-1')
    assert (answer.status_int, answer.headers['Retry-After']) == (503, '5')


def test_a_bug_is_logged_and_not_told(caplog):
    with caplog.at_level(logging.ERROR):
        answer = faults.response(KeyError('secret'), 'req-1')
    assert answer.status_int == 500
    assert 'req-1' in answer.json['error_message']
    assert 'secret' not in answer.text
    assert 'secret' in caplog.text


def test_a_subclass_has_the_case_of_its_base():
    class Late(exception.InvalidState):
        pass

    assert cases.of(Late('too late')).status == 409


def test_clients_of_nova_get_the_fault_that_they_read():
    fault = faults.nova_fault(exception.Contended())
    answer = webob.Request.blank('/').get_response(fault)
    assert answer.status_int == 503
    assert answer.headers['Retry-After'] == '5'
    assert (
        'try again' in json.loads(answer.text)['serviceUnavailable']['message']
    )


def test_words_of_the_driver_are_not_told_to_users():
    secret = 'Access denied for user nova@controller'
    for error in (
        exception.DatabaseUnavailable(reason=secret),
        exception.CloudUnavailable(service='Placement', reason=secret),
    ):
        answer = faults.response(error, None)
        assert answer.status_int == 503
        assert 'can not be reached' in answer.json['error_message']
        assert 'controller' not in answer.text
        assert secret in str(error)

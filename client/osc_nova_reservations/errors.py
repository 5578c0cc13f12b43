# SPDX-License-Identifier: Apache-2.0
"""Errors of requests, in the words of commands."""

from collections.abc import Iterator
import contextlib
import re

from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions
import requests

from osc_nova_reservations import dates

_RULE = re.compile(r'reservations:[\w:.-]+')


class Forbidden(exceptions.CommandError):
    """The policy of the cloud refuses a request."""


@contextlib.contextmanager
def told(clock: dates.Clock | None = None) -> Iterator[None]:
    """Turn errors of openstacksdk into errors that commands print.

    :param clock: in whose zone times are told; None: none are
    :raises: CommandError, Forbidden
    """
    try:
        yield
    except sdk_exceptions.HttpException as error:
        raise _of_answer(error, clock) from error
    except sdk_exceptions.SDKException as error:
        raise exceptions.CommandError(str(error)) from error


def _of_answer(
    error: sdk_exceptions.HttpException, clock: dates.Clock | None
) -> exceptions.CommandError:
    if error.status_code == 403:
        rule = _RULE.search(error.message)
        return Forbidden(
            'You may not do this with this project and role'
            + (f': the rule of the cloud is {rule[0]}' if rule else '')
            + '. Ask the operators of the cloud'
        )
    said = [error.message]
    if clock is not None and error.response is not None:
        said += _times(error.response, clock)
    return exceptions.CommandError('\n'.join(said))


def _times(response: requests.Response, clock: dates.Clock) -> Iterator[str]:
    """Yield what would be accepted, if the API tells it; it does in UTC."""
    try:
        body = dict(response.json())
    except (ValueError, TypeError):
        return
    for key, words in (
        ('earliest_start', 'There is room from'),
        ('latest_end', 'There is room until'),
    ):
        if key in body:
            moment = clock.shown(dates.parsed(body[key]))
            yield f'{words} {moment} ({clock.zone})'

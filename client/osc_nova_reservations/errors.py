# SPDX-License-Identifier: Apache-2.0
"""Errors of requests, in the words of commands."""

from collections.abc import Iterator
import contextlib
import re

from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions

_RULE = re.compile(r'reservations:[\w:.-]+')


class Forbidden(exceptions.CommandError):
    """The policy of the cloud refuses a request."""


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Turn errors of openstacksdk into errors that commands print.

    :raises: CommandError, Forbidden
    """
    try:
        yield
    except sdk_exceptions.HttpException as error:
        raise _of_answer(error) from error
    except sdk_exceptions.SDKException as error:
        raise exceptions.CommandError(str(error)) from error


def _of_answer(
    error: sdk_exceptions.HttpException,
) -> exceptions.CommandError:
    said = error.message
    if error.status_code == 403:
        rule = _RULE.search(said)
        return Forbidden(
            'You may not do this with this project and role'
            + (f': the rule of the cloud is {rule[0]}' if rule else '')
            + '. Ask the operators of the cloud'
        )
    return exceptions.CommandError(said)

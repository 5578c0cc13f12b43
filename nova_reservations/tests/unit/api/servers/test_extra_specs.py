# SPDX-License-Identifier: Apache-2.0
"""Nova's API takes extra specs of ours that are valid."""

from nova import exception as nova_exception
from nova.api.validation.extra_specs import validators
import pytest


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('reservations:cu', '4'),
        ('reservations:cu', '0.25'),
        ('reservations:my-own.resource_2', '1000'),
    ],
)
def test_amounts_are_taken(name, value):
    validators.validate(name, value)


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('reservations:cu', '-1'),
        ('reservations:cu', 'four'),
        ('reservations:cu', ''),
        ('reservations:CU', '4'),
        ('reservations:a b', '4'),
        ('reservations:', '4'),
    ],
)
def test_specs_that_the_scheduler_could_not_read_are_refused(name, value):
    with pytest.raises(nova_exception.ValidationError):
        validators.validate(name, value)


def test_specs_of_others_are_none_of_ours():
    validators.validate('hw:cpu_policy', 'dedicated')
    validators.validate('some:other', 'thing')

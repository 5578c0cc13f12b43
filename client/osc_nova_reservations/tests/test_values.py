# SPDX-License-Identifier: Apache-2.0
"""Values of options."""

import argparse
import json

import pytest

from osc_nova_reservations import values
from osc_nova_reservations import what


@pytest.mark.parametrize(
    ('text', 'numbers'),
    [('3', (3, 3)), ('2-5', (2, 5)), ('2-2', (2, 2))],
)
def test_a_range_of_hosts_is_one_number_or_two(text, numbers):
    assert values.host_range(text) == numbers


@pytest.mark.parametrize(
    'text', ['', '-', '2-', '-2', '1-2-3', 'x', '1.5', '0', '5-2']
)
def test_any_other_range_of_hosts_is_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match='neither a number'):
        values.host_range(text)


@pytest.mark.parametrize(
    ('text', 'mib'),
    [('512', 512), ('512M', 512), ('8G', 8192), ('8GiB', 8192), ('1t', 2**20)],
)
def test_memory_is_given_as_people_say_it(text, mib):
    assert values.memory(text) == mib


@pytest.mark.parametrize(
    ('text', 'gib'), [('20', 20), ('20G', 20), ('1TB', 1024), ('0', 0)]
)
def test_disks_are_given_as_people_say_them(text, gib):
    assert values.disk(text) == gib


@pytest.mark.parametrize('size', [values.memory, values.disk])
@pytest.mark.parametrize('text', ['', 'G', '-1', '1.5G', '8X', 'eight'])
def test_any_other_size_is_refused(size, text):
    with pytest.raises(argparse.ArgumentTypeError, match='no size, such as'):
        size(text)


def test_disks_are_not_in_mib():
    with pytest.raises(argparse.ArgumentTypeError, match='20G or 1T'):
        values.disk('512M')


@pytest.mark.parametrize(
    ('text', 'expression'),
    [
        ('gpu=a100', ['==', '$gpu', 'a100']),
        ('gpu==a100', ['==', '$gpu', 'a100']),
        ('gpu!=a100', ['!=', '$gpu', 'a100']),
        ('vcpus>=16', ['>=', '$vcpus', '16']),
        ('vcpus < 16', ['<', '$vcpus', '16']),
        ('trait:CUSTOM_X=required', ['==', '$trait:CUSTOM_X', 'required']),
        ('model=A=B', ['==', '$model', 'A=B']),
    ],
)
def test_a_property_is_compared(text, expression):
    assert values.compared(text) == expression


@pytest.mark.parametrize('text', ['', 'gpu', '=a', 'gpu=', '>=3', 'a b=3'])
def test_text_that_compares_nothing_is_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match='compares no prop'):
        values.compared(text)


def test_several_requirements_hold_at_once():
    one, two = ['==', '$gpu', 'a100'], ['>=', '$vcpus', '16']
    assert what.expression([]) == ''
    assert json.loads(what.expression([one])) == one
    assert json.loads(what.expression([one, two])) == ['and', one, two]
    assert what.expression([], 'as it is') == 'as it is'
    more = json.dumps(two)
    assert json.loads(what.expression([one], more)) == ['and', one, two]

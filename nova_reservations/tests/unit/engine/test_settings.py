# SPDX-License-Identifier: Apache-2.0
import dataclasses
import datetime

import pytest

from nova_reservations.engine import settings
from nova_reservations.testing import options


@pytest.fixture
def conf():
    return options.defaults()


def test_settings_are_in_the_units_of_their_options(conf):
    conf.set_override('end_timeout', 90, 'reservations')
    conf.set_override('healing_interval', 1.5, 'reservations')
    made = settings.Settings.of(conf)
    assert made.end_timeout == made.healing_interval
    assert made.end_timeout == datetime.timedelta(seconds=90)


def test_no_setting_has_a_default_of_its_own():
    assert [
        field.name
        for field in dataclasses.fields(settings.Settings)
        if field.default is not dataclasses.MISSING
    ] == []

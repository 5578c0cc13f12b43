# SPDX-License-Identifier: Apache-2.0
import pytest

from nova_reservations.tests import mutants


@pytest.mark.parametrize(
    'mutant', mutants.all_of_them(), ids=lambda mutant: mutant.name
)
def test_mutants_have_their_places_and_their_tests(mutant):
    assert mutant.place(mutants.ROOT).is_file()
    assert mutant.tests
    for test in mutant.tests:
        assert (
            mutants.ROOT / mutants.TESTS / test.partition('::')[0]
        ).exists()

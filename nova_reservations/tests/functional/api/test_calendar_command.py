# SPDX-License-Identifier: Apache-2.0
"""``openstack lease calendar``, against the API over HTTP."""

import pytest

from nova_reservations.tests.functional.api import conftest

DAYS = ('--start=2030-05-17', '--end=2030-05-20')
TWO = {'resource_type': 'physical:host', 'min': 2, 'max': 2}


@pytest.fixture
def leases(member, stranger, enrolled):
    """Lease names -> leases, of two projects."""
    return {
        'mine': member.lease(name='mine', duration='1d'),
        'theirs': stranger.lease(
            name='theirs', duration='1d', reservations=[TWO]
        ),
    }


@pytest.fixture
def drawn(openstack, tmp_path):
    """Draw a calendar of hosts for a person, as text and as a page."""

    def drawn(person):
        run = openstack(person, 'lease')
        page = tmp_path / 'page.html'
        assert run('calendar', '--hosts', *DAYS, f'--html={page}') == ''
        return run('calendar', '--hosts', *DAYS), page.read_text()

    return drawn


def test_a_member_is_told_of_others_only_that_hosts_are_taken(
    drawn, member, leases
):
    text, page = drawn(member)
    assert text.count('[taken') == page.count('>taken<') == 2
    assert '[mine' in text
    assert leases['mine']['id'] in page
    theirs = leases['theirs']
    for secret in 'theirs', theirs['id'], theirs['reservations'][0]['id']:
        assert secret not in text
        assert secret not in page
    for host in conftest.HOSTS:
        assert host not in text
        # h1 is also a tag, so only the text of a whole element counts.
        assert f'>{host}<' not in page


def test_an_administrator_reads_all_names(drawn, admin, leases):
    text, page = drawn(admin)
    for name in 'mine', 'theirs':
        assert f'[{name}' in text
        assert f'>{name}<' in page
    assert '\nh1' in text
    assert '>h1<' in page


def test_leases_of_the_project_are_drawn(openstack, member, leases):
    text = openstack(member, 'lease')('calendar', *DAYS)
    assert '\nmine ' in text
    assert '[1 host##' in text
    assert 'theirs' not in text


@pytest.mark.parametrize(
    ('words', 'reason'),
    [
        (('--start=soon',), 'soon is no time'),
        (('--start=2030-05-17', '--end=2032-05-17'), 'at most 366 days'),
        (('--hosts', '--mine'), 'not allowed with'),
        (('--html=/', *DAYS), '/ could not be written'),
    ],
)
def test_a_mistake_is_told_in_words_that_help(
    openstack, member, leases, words, reason
):
    assert reason in openstack(member, 'lease')('calendar', *words)

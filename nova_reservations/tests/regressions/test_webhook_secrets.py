# SPDX-License-Identifier: Apache-2.0
"""Passwords and keys in the addresses of webhooks were in the log.

Issue 13, item 14.
"""

import logging

from oslo_config import cfg
import pytest

from nova_reservations import conf
from nova_reservations.plugins.event_actions import webhook

ADDRESS = 'http://user:pass-word@127.0.0.1:1/pa-th?key=to-ken'


@pytest.mark.parametrize(
    'address', [ADDRESS, 'http://user:pass-word@[::1/pa-th?key=to-ken']
)
def test_an_address_that_failed_is_named_without_its_credentials(
    address, caplog
):
    assert not webhook._post(address, b'{}', {})
    assert 'The webhook at' in caplog.text
    for secret in ('user', 'pass-word', 'pa-th', 'to-ken'):
        assert secret not in caplog.text


def test_the_host_is_named(caplog):
    webhook._post(ADDRESS, b'{}', {})
    assert '127.0.0.1:1 failed: ConnectionError' in caplog.text


def test_a_process_that_logs_its_options_leaves_addresses_out(caplog):
    opts = cfg.ConfigOpts()
    conf.register_opts(opts)
    opts([])
    opts.set_override('webhook_addresses', [ADDRESS], 'reservations')
    log = logging.getLogger(__name__)
    with caplog.at_level(logging.DEBUG, __name__):
        opts.log_opt_values(log, logging.DEBUG)
    assert 'webhook_addresses' in caplog.text
    assert 'pass-word' not in caplog.text

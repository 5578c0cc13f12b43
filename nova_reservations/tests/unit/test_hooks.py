# SPDX-License-Identifier: Apache-2.0
from importlib import metadata

from nova import monkey_patch
from nova.scheduler import request_filter
from nova.scheduler import utils
import pytest

from nova_reservations import exception
from nova_reservations import hooks


@pytest.fixture(autouse=True)
def _forget():
    hooks.check.cache_clear()
    yield
    hooks.check.cache_clear()


@pytest.mark.parametrize(
    'process', ['api', 'scheduler', 'compute', 'conductor']
)
def test_the_installed_nova_fits(process):
    hooks.check(process)


def test_a_single_line_names_all_that_does_not_fit(monkeypatch):
    monkeypatch.delattr(utils.ResourceRequest, 'get_request_group')
    monkeypatch.setattr(request_filter, 'ALL_REQUEST_FILTERS', ())
    monkeypatch.setattr(
        request_filter, 'process_reqspec', lambda context, spec, more: None
    )
    with pytest.raises(exception.UnsupportedNova) as refusal:
        hooks.check('scheduler')
    line = str(refusal.value)
    assert '\n' not in line
    assert 'nova.scheduler.utils:ResourceRequest.get_request_group is ' in line
    assert 'ALL_REQUEST_FILTERS is a tuple, not a list' in line
    assert 'takes (context, spec, more), not (ctxt, request_spec)' in line


def test_a_process_needs_its_own_hooks_only(monkeypatch):
    monkeypatch.delattr(utils.ResourceRequest, 'get_request_group')
    hooks.check('api')


def test_a_release_that_nobody_looked_at_is_refused(monkeypatch):
    monkeypatch.setattr(metadata, 'version', lambda _: '35.0.0')
    with pytest.raises(
        exception.UnsupportedNova, match=r'Nova 35\.0\.0: supported are 3'
    ):
        hooks.check('api')


def test_an_older_nova_need_not_have_what_came_later(monkeypatch):
    monkeypatch.delattr(monkey_patch, 'patch', raising=False)
    monkeypatch.setattr(metadata, 'version', lambda _: '31.3.1')
    monkeypatch.setattr(hooks, 'SUPPORTED', range(31, 35))
    hooks.check('api')


def test_a_later_nova_must_have_what_came_before(monkeypatch):
    monkeypatch.delattr(monkey_patch, 'patch', raising=False)
    monkeypatch.setattr(metadata, 'version', lambda _: '32.0.0')
    with pytest.raises(
        exception.UnsupportedNova, match='monkey_patch:patch is missing'
    ):
        hooks.check('api')


def test_every_hook_says_what_it_is_for():
    assert all(hook.purpose for hook in hooks.HOOKS)


def test_no_process_has_a_row_twice():
    rows = [
        (process, hook.module, hook.attribute)
        for hook in hooks.HOOKS
        for process in hook.processes
    ]
    assert len(rows) == len(set(rows))

# SPDX-License-Identifier: Apache-2.0
"""Fakes for the tests of plugins: a cloud in memory, and a manual clock.

``region.Region`` is the whole engine, as ``bootstrap`` assembles it, on an
SQLite database and a ``fake_cloud.FakeCloud``. A test moves its time forward,
and then its workers do what is due::

    factory = region.Factory(tmp_path)
    ours = factory('host1', 'host2', types={'virtual:moon': Moon})
    lease = ours.lease_of(('virtual:moon', {'amount': 1}), start=5, end=60)
    ours.forward(until=10)
    assert ours.status(lease) == 'ACTIVE'

``steps.Steps`` counts the writes of a region, and can kill a worker before any
of them: a plugin must go on from there. ``options`` has the defaults of the
options. This package has no requirements beyond those of the main package.
"""

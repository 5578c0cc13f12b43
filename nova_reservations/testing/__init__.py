# SPDX-License-Identifier: Apache-2.0
"""Doubles for the tests of plugins: a cloud in memory, and a clock by hand.

``region.Region`` is the engine with all its use cases, as ``bootstrap`` puts
it together, on an SQLite database and a ``fake_cloud.FakeCloud``. Its time
goes on when a test says so, and its workers do what is due then::

    factory = region.Factory(tmp_path)
    ours = factory('host1', 'host2', types={'virtual:moon': Moon})
    lease = ours.lease_of(('virtual:moon', {'amount': 1}), start=5, end=60)
    ours.forward(until=10)
    assert ours.status(lease) == 'ACTIVE'

``steps.Steps`` counts what a region writes, and can have it killed before
any of it: a plugin must get on from there. ``options`` has the options'
defaults. All of it needs what the package itself needs, and nothing else.
"""

# SPDX-License-Identifier: Apache-2.0
import uuid

import pytest

from nova_reservations.cloud.placement import placement
from nova_reservations.cloud.placement import provider_trees

ROOT, ONE, OTHER = (str(uuid.UUID(int=number)) for number in range(3))
OURS = provider_trees.our_child(ROOT)


class Answer:
    status_code = 200

    def __init__(self, body):
        self._body = body

    def json(self):
        return self._body


class Tree:
    """A host with two GPUs, as placement shows it.

    :ivar asked: the URLs of the requests.
    """

    def __init__(self):
        self.generations = {ROOT: 5, ONE: 1, OTHER: 1, OURS: 1}
        self.asked = []

    def request(self, method, url, *also):
        self.asked.append(url)
        path, _, part = url.removeprefix('/resource_providers').rpartition('/')
        if not path:
            return Answer({'resource_providers': self._nodes()})
        generation = self.generations[path.strip('/')]
        units = {'total': generation, 'max_unit': 1}
        rest = {'reserved': 0, 'min_unit': 1, 'step_size': 1}
        inventory = {**units, **rest, 'allocation_ratio': 1.0}
        told = {'inventories': {'VGPU': inventory}, 'traits': ['CUSTOM_A']}
        return Answer(
            {'resource_provider_generation': generation, part: told[part]}
        )

    def _nodes(self):
        return [
            {
                'uuid': key,
                'generation': generation,
                'root_provider_uuid': ROOT,
            }
            for key, generation in self.generations.items()
        ]


@pytest.fixture
def tree(monkeypatch):
    tree = Tree()
    monkeypatch.setattr(placement, 'request', tree.request)
    return tree


def test_all_but_our_own_provider_is_below_a_host(tree):
    found = provider_trees.Trees().below(ROOT)
    assert [each.provider for each in found.inventories] == [ONE, OTHER]
    assert {each.traits for each in found.inventories} == {
        frozenset({'CUSTOM_A'})
    }


def test_providers_that_have_not_changed_are_not_read_again(tree):
    trees = provider_trees.Trees()
    trees.below(ROOT)
    assert len(tree.asked) == 1 + 2 * 2
    tree.generations[OTHER] = 7
    tree.asked.clear()
    found = trees.below(ROOT)
    assert [each.total for each in found.inventories] == [1, 7]
    assert len(tree.asked) == 1 + 2
    del tree.generations[OTHER]
    assert [each.total for each in trees.below(ROOT).inventories] == [1]


@pytest.mark.parametrize(
    ('provider', 'is_change'),
    [(ONE, True), (OURS, False), (ROOT, False)],
)
def test_a_single_request_tells_whether_anything_below_has_changed(
    tree, provider, is_change
):
    before = provider_trees.Trees().below(ROOT).tree
    assert provider_trees.trees() == {ROOT: before}
    tree.generations[provider] += 1
    assert (provider_trees.trees() != {ROOT: before}) is is_change


def test_a_host_with_nothing_below_has_no_tree(tree):
    del tree.generations[ONE], tree.generations[OTHER]
    assert provider_trees.Trees().below(ROOT) == provider_trees.Below()
    assert provider_trees.trees() == {ROOT: ''}

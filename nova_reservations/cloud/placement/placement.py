# SPDX-License-Identifier: Apache-2.0
"""Placement, through the report client of the Nova process.

Only the client's HTTP methods are used: its other methods turn failures into
None, and keep a cache of providers that is meant for nova-compute alone.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
import dataclasses
from typing import Any
from typing import TypeVar
from urllib import parse

from keystoneauth1 import exceptions as ks_exc
from nova.scheduler.client import report
from openstack import exceptions as sdk_exc

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.cloud import errors
from nova_reservations.cloud import parallel
from nova_reservations.objects import amounts
from nova_reservations.ports import fences

Result = TypeVar('Result')

POOL_TRAIT = 'CUSTOM_NOVA_RESERVATIONS_POOL'
"""The trait of every enrolled host's provider, from enrolment to removal."""

SHARING = 'MISC_SHARES_VIA_AGGREGATE'
"""The trait of providers that several hosts share, such as disks."""

NO_PROVIDER = 'placement has no such provider'

VERSION = '1.36'
ATTEMPTS = 10


def request(method: str, url: str, *also: int, body: Any = None) -> Any:
    """Return placement's answer.

    :param also: the statuses beside 200, 201 and 204 that the caller handles
    :raises: CloudUnavailable
    """
    try:
        call = getattr(report.report_client_singleton(), method)
        args = (url, body) if method in ('put', 'post') else (url,)
        answer = call(*args, version=VERSION)
    # SDKException: placement did not answer the first request of a process,
    # so that the client does not know its version.
    except (ks_exc.ClientException, sdk_exc.SDKException) as error:
        raise errors.of_session('Placement', error) from error
    if answer.status_code not in (200, 201, 204, *also):
        asked = f'{method.upper()} {url}'
        raise errors.of_answer(
            'Placement', asked, answer.status_code, answer.text
        )
    return answer


class Conflict(Exception):
    """Another writer has changed the object since it was read."""


def retry(change: Callable[[], Result], what: str) -> Result:
    """Call change, which reads and then writes, again after each conflict.

    :raises: CloudUnavailable after ATTEMPTS conflicts
    """
    for _ in range(ATTEMPTS):
        try:
            return change()
        except Conflict:
            continue
    raise exception.CloudUnavailable(
        service='Placement', reason=f'{what} was changed by others each time'
    )


def ensure_trait() -> None:
    """Create the pool's trait: placement refuses a query that names an unknown
    trait."""
    known = request('get', f'/traits?name=in:{POOL_TRAIT}').json()
    if POOL_TRAIT not in known['traits']:
        request('put', f'/traits/{POOL_TRAIT}')


def pool_generations() -> dict[str, int]:
    """Return UUID -> generation of the providers with the pool's trait."""
    # 400: placement does not know the trait, so no provider has it.
    return _generations(f'required={POOL_TRAIT}', 400)


def generations(aggregate: str) -> dict[str, int]:
    """Return UUID -> generation of the providers in the aggregate."""
    return _generations(f'member_of={aggregate}')


def _generations(wanted: str, *none: int) -> dict[str, int]:
    """:param none: the statuses that mean that there is no such provider"""
    answer = request('get', f'/resource_providers?{wanted}', *none)
    if answer.status_code in none:
        return {}
    return {
        provider['uuid']: provider['generation']
        for provider in answer.json()['resource_providers']
    }


def set_trait(provider: str, present: bool) -> bool:
    """Put the pool's trait on the provider, or take it off.

    :returns: False if there is no such provider
    """
    return _set(provider, 'traits', POOL_TRAIT, present) is not None


def set_member(provider: str, aggregate: str, present: bool) -> bool:
    """Add the provider to the aggregate, or take it out.

    :returns: False if there is no such provider
    """
    return _set(provider, 'aggregates', aggregate, present) is not None


def leave_aggregate(
    provider: str, aggregate: str, check: ports.Check
) -> ports.GenerationChange | None:
    """Take the provider out of the aggregate; return what ``_set`` does."""
    return _set(provider, 'aggregates', aggregate, False, check)


def aggregates(provider: str) -> frozenset[str]:
    """Return the aggregates that the provider is in; none if it is gone."""
    return _items(provider, 'aggregates')


def traits(provider: str) -> frozenset[str]:
    """Return the traits of the provider; none if it is gone."""
    return _items(provider, 'traits')


def _items(provider: str, kind: str) -> frozenset[str]:
    answer = request('get', f'/resource_providers/{provider}/{kind}', 404)
    return frozenset(answer.json()[kind] if answer.status_code == 200 else ())


def roots(providers: Iterable[str]) -> list[str]:
    """Return the root providers of the trees that have these providers."""
    found: list[str] = []
    seen: set[str] = set()
    for provider in providers:
        if provider in seen:
            continue
        tree = request('get', f'/resource_providers?in_tree={provider}')
        for node in tree.json()['resource_providers']:
            seen.add(node['uuid'])
            if node['parent_provider_uuid'] is None:
                found.append(node['uuid'])
    return found


def _set(
    provider: str,
    kind: str,
    item: str,
    present: bool,
    check: ports.Check | None = None,
) -> ports.GenerationChange | None:
    """Add an item to the provider, or remove it. Return the provider's
    generation before and after this change; None if there is no such provider.

    :param check: called between each read and write; a change by another
        writer after the read makes the write fail, and it is repeated. None:
        check the fence of the thread
    """
    url = f'/resource_providers/{provider}/{kind}'
    check = check or fences.current()

    def change() -> ports.GenerationChange | None:
        answer = request('get', url, 404)
        if answer.status_code == 404:
            return None
        body = answer.json()
        before: int = body['resource_provider_generation']
        items = set(body[kind])
        if (item in items) == present:
            return ports.GenerationChange(before, before)
        # Decision 0017: doc/source/decisions/0017-what-we-changed-ourselves
        # The body has the generation that was read: a conflict means that
        # somebody else has changed the provider, which is then read again.
        body[kind] = sorted(items ^ {item})
        check()
        answer = request('put', url, 404, 409, body=body)
        if answer.status_code != 200:
            raise Conflict
        return ports.GenerationChange(
            before, answer.json()['resource_provider_generation']
        )

    return retry(change, f'provider {provider}')


def set_members(
    aggregate: str, providers: Collection[str], check: ports.Check
) -> dict[str, ports.GenerationChange]:
    """Make the aggregate have exactly these providers, and verify that it has.

    :returns: UUID -> change of the generation, of providers that changed
    :raises: HostRefused if there is no such provider
    """
    wanted = set(providers)
    changes: dict[str, ports.GenerationChange] = {}
    refused: list[str] = []
    check = parallel.checked_together(check)

    def change(provider: str) -> None:
        present = provider in wanted
        changed = _set(provider, 'aggregates', aggregate, present, check)
        if changed is None and present:
            refused.append(provider)
        if changed is not None and changed.before != changed.after:
            changes[provider] = changed

    for _ in range(ATTEMPTS):
        members = set(generations(aggregate))
        wrong = sorted(members ^ wanted)
        if not wrong:
            return changes
        if not members:
            # Placement creates an aggregate along with its first provider. If
            # several are added at once, all but one fail on the unique key,
            # and sleep a second before the retry (oslo.db's wrap_db_retry).
            change(wrong.pop(0))
        parallel.each(change, wrong)
        if refused:
            raise exception.HostRefused(refused, NO_PROVIDER)
    raise exception.CloudUnavailable(
        service='Placement',
        reason=f'aggregate {aggregate} was changed by others each time',
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Provider:
    """:ivar usages: resource class -> allocated units."""

    generation: int
    traits: frozenset[str]
    inventories: tuple[objects.Inventory, ...]
    usages: dict[str, int]

    def free(self, resource_class: str) -> int:
        """Return how many units of the class servers can still get."""
        for inventory in self.inventories:
            if inventory.resource_class == resource_class:
                used = self.usages.get(resource_class, 0)
                return max(0, inventory.capacity - used)
        return 0


def provider(uuid: str, with_usages: bool) -> Provider | None:
    """Return a provider; None if placement does not have it.

    :param with_usages: whether to ask for the usages; else they are empty
    """
    parts = ['inventories', 'traits', *(['usages'] if with_usages else [])]
    url = f'/resource_providers/{uuid}'
    answers = [request('get', f'{url}/{part}', 404) for part in parts]
    if any(answer.status_code == 404 for answer in answers):
        return None
    bodies = [answer.json() for answer in answers]
    inventories, traits = bodies[:2]
    return Provider(
        # The oldest generation of the answers: so a change between these
        # requests is noticed the next time.
        generation=min(it['resource_provider_generation'] for it in bodies),
        traits=frozenset(traits['traits']),
        inventories=tuple(
            inventory_of(resource_class, inventory)
            for resource_class, inventory in sorted(
                inventories['inventories'].items()
            )
        ),
        usages=bodies[2]['usages'] if with_usages else {},
    )


def inventory_of(
    resource_class: str, inventory: dict[str, Any]
) -> objects.Inventory:
    return objects.Inventory(
        resource_class=resource_class,
        total=inventory['total'],
        reserved=inventory['reserved'],
        min_unit=inventory['min_unit'],
        max_unit=inventory['max_unit'],
        step_size=inventory['step_size'],
        allocation_ratio=inventory['allocation_ratio'],
    )


def consumers(root: str) -> set[str]:
    """Return the consumers of all providers in the tree."""
    tree = request('get', f'/resource_providers?in_tree={root}').json()
    found: set[str] = set()
    for node in tree['resource_providers']:
        url = f'/resource_providers/{node["uuid"]}/allocations'
        answer = request('get', url, 404)
        if answer.status_code == 200:
            found.update(answer.json()['allocations'])
    return found


def keep_allocations(
    consumer: str, is_kept: Callable[[str, Collection[str]], bool]
) -> None:
    """Delete the consumer's allocations, except those that are kept.

    :param is_kept: gets a provider and all providers of which the consumer
        has allocations; returns whether the allocation of the first stays
    :raises: CloudUnavailable
    """
    url = f'/allocations/{consumer}'

    def change() -> None:
        body = request('get', url).json()
        held = body['allocations']
        kept = {
            provider: {'resources': allocation['resources']}
            for provider, allocation in held.items()
            if is_kept(provider, held)
        }
        if len(kept) == len(held):
            return
        body['allocations'] = kept
        fences.current()()
        # The body has the consumer generation that was read.
        if request('put', url, 409, body=body).status_code == 409:
            raise Conflict

    retry(change, f'consumer {consumer}')


@dataclasses.dataclass(frozen=True, slots=True)
class Candidates:
    """The answer of placement to a request for allocation candidates.

    :ivar roots: UUIDs of the root providers, one per suitable host.
    :ivar free: root provider -> resource class -> free units in its tree.
    """

    roots: tuple[str, ...]
    free: dict[str, amounts.Amounts]


def candidates(query: str) -> Candidates:
    """Return the allocation candidates for a request.

    :param query: the query string, as Nova makes it
    """
    answer = request('get', f'/allocation_candidates?{query}', 400)
    if answer.status_code == 400:
        # Placement does not know a trait or class, so no provider has it.
        return Candidates((), {})
    body = answer.json()
    summaries = body['provider_summaries']
    free: dict[str, amounts.Amounts] = {}
    for summary in summaries.values():
        root = summary['root_provider_uuid']
        free[root] = free.get(root, amounts.NOTHING) + {
            name: shown['capacity'] - shown['used']
            for name, shown in summary['resources'].items()
        }
    roots = {
        summaries[provider]['root_provider_uuid']: None
        for request in body['allocation_requests']
        for provider in request['allocations']
    }
    return Candidates(tuple(roots), free)


def usages(project_id: str) -> dict[str, int]:
    """Return resource class -> usage by the servers of a project."""
    answer = request(
        'get', f'/usages?{parse.urlencode({"project_id": project_id})}'
    )
    found: dict[str, int] = answer.json()['usages']
    return found

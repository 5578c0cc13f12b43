# SPDX-License-Identifier: Apache-2.0
"""Slots of reservations in placement: resource classes of our own, on child
providers of hosts."""

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.cloud.placement import placement


def ensure_class(name: str) -> None:
    placement.request('put', f'/resource_classes/{name}')


def delete_class(name: str) -> bool:
    """Delete a class; return False if some inventory has it."""
    answer = placement.request('delete', f'/resource_classes/{name}', 404, 409)
    return bool(answer.status_code != 409)


def classes() -> set[str]:
    found = placement.request('get', '/resource_classes').json()
    return {known['name'] for known in found['resource_classes']}


def offering(resource_class: str) -> dict[str, str]:
    """Return UUID -> name of the providers with free units of the class."""
    answer = placement.request(
        'get', f'/resource_providers?resources={resource_class}:1', 400
    )
    if answer.status_code == 400:
        # Placement does not know the class, so no provider has it.
        return {}
    return {
        provider['uuid']: provider['name']
        for provider in answer.json()['resource_providers']
    }


def ensure_child(
    parent: str, uuid: str, name: str, check: ports.Check
) -> None:
    """Create a child provider.

    :raises: HostRefused if there is no such parent
    """
    url = f'/resource_providers/{uuid}'
    if placement.request('get', url, 404).status_code == 200:
        return
    check()
    body = {'name': name, 'uuid': uuid, 'parent_provider_uuid': parent}
    answer = placement.request(
        'post', '/resource_providers', 400, 409, body=body
    )
    if answer.status_code == 400:
        raise exception.HostRefused([parent], placement.NO_PROVIDER)
    if answer.status_code == 409:
        # Another worker has created it; or the name is in use, and then this
        # raises.
        placement.request('get', url)


def set_inventory(
    provider: str, resource_class: str, total: int, check: ports.Check
) -> bool:
    """Set the number of units of the class, of which a consumer gets one.

    :param total: 0 removes the inventory
    :param check: called between each read and write
    :returns: False if the inventory can't be changed, because it is in use
    """
    url = f'/resource_providers/{provider}/inventories'

    def change() -> bool:
        # If the provider is gone, there is no inventory to remove.
        answer = placement.request('get', url, *(() if total else (404,)))
        if answer.status_code == 404:
            return True
        body = answer.json()
        inventories = body['inventories']
        had = inventories.pop(resource_class, {'total': 0})['total']
        if had == total:
            return True
        if total:
            inventories[resource_class] = {'total': total, 'max_unit': 1}
        check()
        answer = placement.request('put', url, 409, body=body)
        if answer.status_code == 200:
            return True
        if 'inventory.inuse' in answer.text:
            return False
        raise placement.Conflict

    return placement.retry(change, f'provider {provider}')


def inventories(provider: str) -> dict[str, int]:
    """Return resource class -> total; nothing if the provider is gone."""
    answer = placement.request(
        'get', f'/resource_providers/{provider}/inventories', 404
    )
    if answer.status_code == 404:
        return {}
    return {
        name: inventory['total']
        for name, inventory in answer.json()['inventories'].items()
    }


def holders(provider: str, resource_class: str) -> set[str]:
    """Return the consumers that hold units of the class."""
    answer = placement.request(
        'get', f'/resource_providers/{provider}/allocations', 404
    )
    if answer.status_code == 404:
        return set()
    return {
        consumer
        for consumer, held in answer.json()['allocations'].items()
        if resource_class in held['resources']
    }

# SPDX-License-Identifier: Apache-2.0
"""Extra specs of flavors that Nova's filters compare with hosts, as
requirements.

Nova has two filters for them. One reads ``capabilities:KEY`` from what is
known of a host, the other ``aggregate_instance_extra_specs:KEY`` from the
metadata of its aggregates. A key without a scope is read by both.

A fact with few forms, such as a type of hypervisor, is compared in the
database. What Nova alone understands is judged by Nova, once for each value
that any host has (Judged).

Decision 0064: doc/source/decisions/0064-specs-of-flavors-bind-slots
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import re
from typing import TypeAlias

from nova_reservations import exception
from nova_reservations.objects import requirements

Passes: TypeAlias = Callable[[str, str, str], bool]
"""Tells whether a host passes Nova's filter. It takes an extra spec's key, the
value of the fact that the key names, and the extra spec's value."""

CAPABILITIES = 'capabilities:'
AGGREGATES = requirements.AGGREGATES
CPU_INFO = 'cpu_info'

_NUMBERS = {
    'hypervisor_version': 'hypervisor_version',
    'total_usable_disk_gb': 'local_gb',
    'total_usable_ram_mb': 'memory_mb',
    'vcpus_total': 'vcpus',
}
_TEXTS = {
    'cell_uuid': 'cell',
    'cpu_info': 'cpu_info',
    'host': 'service_name',
    'hypervisor_hostname': 'hypervisor_hostname',
    'hypervisor_type': 'hypervisor_type',
    'nodename': 'hypervisor_hostname',
}
NAMED = frozenset({*_NUMBERS, *_TEXTS})
"""What Nova knows of a host, and we know too, by Nova's names."""
OTHERS = frozenset(
    {
        'aggregates',
        'allocation_candidates',
        'consume_from_request',
        'cpu_allocation_ratio',
        'disk_allocation_ratio',
        'host_ip',
        'instances',
        'limits',
        'metrics',
        'numa_topology',
        'pci_stats',
        'ram_allocation_ratio',
        'service',
        'stats',
        'supported_instances',
        'to_dict',
        'update',
        'updated',
        'uuid',
    }
)
"""What else Nova finds by name, that hosts are not planned by."""
_OURS = NAMED & (requirements.NUMBERS | requirements.TEXTS)

_OF_NUMBERS = {'=': '>=', '==': '==', '!=': '!=', '>=': '>=', '<=': '<='}
_OF_TEXTS = {
    's==': '==',
    's!=': '!=',
    's<': '<',
    's<=': '<=',
    's>': '>',
    's>=': '>=',
    '<in>': '<in>',
}
_WHOLE = re.compile(r'0|-?[1-9][0-9]{0,14}')


class Words:
    """Nova's words in requirements that users make of hosts."""

    def __init__(self, passes: Passes) -> None:
        self._passes = passes

    def requirement(
        self, key: str, value: str
    ) -> requirements.Expression | None:
        """Return the requirement; None: it is in no words of Nova's.

        :raises: InvalidInput
        """
        if key.startswith(AGGREGATES):
            return aggregates(
                key.removeprefix(AGGREGATES), value, self._passes
            )
        if not key.startswith(CAPABILITIES):
            return None
        path = key.removeprefix(CAPABILITIES)
        if path in _OURS:
            try:
                return capability(path, value, self._passes)
            except exception.InvalidInput:
                # Users may compare facts in more ways than Nova does.
                return None
        if (
            path in NAMED
            or path.startswith(requirements.CPU_INFO)
            or requirements.changes(path)
        ):
            return capability(path, value, self._passes)
        return None


def of_flavor(
    extra_specs: Mapping[str, str], passes: Passes
) -> list[requirements.Expression]:
    """Return what the servers of a flavor ask of their hosts, if both of
    Nova's filters are switched on.

    :raises: InvalidInput for an extra spec by which nothing can be planned
    """
    return [
        part
        for key, value in sorted(extra_specs.items())
        for part in _of_spec(key, value, passes)
    ]


def _of_spec(
    key: str, value: str, passes: Passes
) -> Iterator[requirements.Expression]:
    if key == 'hw:maxphysaddr_bits':
        # Nova's filter reads it like this.
        key, value = 'capabilities:cpu_info:maxphysaddr:bits', f'>= {value}'
    try:
        if key.startswith(CAPABILITIES):
            yield capability(key.removeprefix(CAPABILITIES), value, passes)
        elif key.startswith(AGGREGATES):
            yield aggregates(key.removeprefix(AGGREGATES), value, passes)
        elif ':' not in key:
            if key in NAMED | OTHERS or requirements.changes(key):
                yield capability(key, value, passes)
            yield aggregates(key, value, passes)
    except exception.InvalidInput as error:
        raise exception.InvalidInput(
            f'Extra spec {key}={value}: {error}'
        ) from error


def aggregates(
    key: str, value: str, passes: Passes
) -> requirements.Expression:
    """Return the condition on the metadata of a host's aggregates.

    :raises: InvalidInput
    """
    _check(value)
    name = AGGREGATES + key
    return requirements.Judged(name, name, value, passes)


def capability(
    path: str, value: str, passes: Passes
) -> requirements.Expression:
    """Return the condition on what is known of a host.

    :param path: the key without its scope
    :raises: InvalidInput
    """
    _check(value)
    name, nested, _ = path.partition(':')
    if requirements.changes(path):
        raise exception.InvalidInput(
            f'{path} of a host changes by the minute, so that no lease for '
            'later can be planned by it'
        )
    if nested and name == CPU_INFO:
        return requirements.Judged(
            CPU_INFO, CAPABILITIES + path, value, passes
        )
    if path in _NUMBERS:
        return _number(_NUMBERS[path], value)
    if path in _TEXTS:
        return _text(_TEXTS[path], value)
    raise exception.InvalidInput(
        f'{path} is nothing that hosts are planned by: what is, is '
        f'{", ".join(sorted(NAMED))} and cpu_info:...'
    )


def _check(value: str) -> None:
    if value.startswith('<range-in>'):
        raise exception.InvalidInput(
            'Nova has no <range-in>: give a lowest value, as >= 4, and in '
            'requirements of hosts a highest one too'
        )


def _number(key: str, value: str) -> requirements.Expression:
    word, *operands = value.split() or ['']
    if word == '<or>':
        return requirements.AnyOf(
            tuple(_same_number(key, each) for each in operands[::2])
        )
    if word in _OF_TEXTS or word == '<all-in>':
        raise exception.InvalidInput(
            f'{key} is a number: compare it with = == != >= or <='
        )
    if word not in _OF_NUMBERS:
        return _same_number(key, value)
    if not operands:
        return requirements.AnyOf(())
    number = requirements.number(operands[0])
    if number is None:
        raise exception.InvalidInput(
            f'{key} is a number: {operands[0]} is none'
        )
    return requirements.Comparison(_OF_NUMBERS[word], key, number)


def _same_number(key: str, text: str) -> requirements.Expression:
    # Nova compares what is written.
    if not _WHOLE.fullmatch(text):
        return requirements.AnyOf(())
    return requirements.Comparison('==', key, float(text))


def _text(key: str, value: str) -> requirements.Expression:
    word, *operands = value.split() or ['']
    if word == '<or>':
        return requirements.AnyOf(
            tuple(
                requirements.Comparison('==', key, each)
                for each in operands[::2]
            )
        )
    if word in _OF_NUMBERS:
        raise exception.InvalidInput(
            f'{key} is a text: compare it with s== s!= s< s<= s> s>= <in> '
            '<all-in> or <or>'
        )
    if word not in _OF_TEXTS and word != '<all-in>':
        return requirements.Comparison('==', key, value)
    if not operands:
        return requirements.AnyOf(())
    if word == '<all-in>':
        return requirements.AllOf(
            tuple(
                requirements.Comparison('<in>', key, each) for each in operands
            )
        )
    return requirements.Comparison(_OF_TEXTS[word], key, operands[0])

# SPDX-License-Identifier: Apache-2.0
"""Checks of Heat templates for stacks of leases.

Heat creates such a stack with our token. So everything that is not known to
be safe is refused: a template must not make Heat do anything with our token
that the user could not do.

Decision 0058: doc/source/decisions/0058-stacks
"""

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import json
from typing import Any

import yaml

from nova_reservations import exception

SERVER = 'OS::Nova::Server'
VOLUME = 'OS::Cinder::Volume'
ADDRESS = 'OS::Neutron::FloatingIP'
ASSOCIATION = 'OS::Neutron::FloatingIPAssociation'
GROUP = 'OS::Heat::ResourceGroup'
_LEG = 'OS::Neutron::RouterInterface'

TYPES = frozenset(
    {
        SERVER,
        VOLUME,
        ADDRESS,
        ASSOCIATION,
        GROUP,
        'OS::Cinder::VolumeAttachment',
        'OS::Heat::CloudConfig',
        'OS::Heat::MultipartMime',
        'OS::Heat::RandomString',
        'OS::Heat::SoftwareConfig',
        'OS::Heat::Value',
        'OS::Neutron::Net',
        'OS::Neutron::Port',
        'OS::Neutron::Router',
        _LEG,
        'OS::Neutron::SecurityGroup',
        'OS::Neutron::SecurityGroupRule',
        'OS::Neutron::Subnet',
    }
)
"""Types whose resources belong to the project and to no user, create no other
stack, and take no capacity that the lease did not ask for."""

_PROPERTIES = {
    # Without key_name: a key belongs to a user. Without availability_zone and
    # scheduler_hints: they may lead away from the reserved slots.
    SERVER: frozenset(
        {
            'admin_pass',
            'block_device_mapping_v2',
            'config_drive',
            'diskConfig',
            'flavor',
            'flavor_update_policy',
            'image',
            'image_update_policy',
            'metadata',
            'name',
            'networks',
            'personality',
            'security_groups',
            'tags',
            'user_data',
            'user_data_format',
            'user_data_update_policy',
        }
    ),
    GROUP: frozenset(
        {
            'count',
            'index_var',
            'removal_policies',
            'removal_policies_mode',
            'resource_def',
        }
    ),
}
"""Type -> the properties that it may have; other types may have any."""

_HINTS = {
    'key_name': 'keys are of users, and Heat would look for one of ours: '
    'have user_data add yours',
    'availability_zone': 'its place is where the lease has one for it',
    'scheduler_hints': 'its place is where the lease has one for it',
}

_SECTIONS = frozenset(
    {
        'conditions',
        'description',
        'heat_template_version',
        'outputs',
        'parameter_groups',
        'parameters',
        'resources',
    }
)

_CONSTRAINTS = ('cinder.', 'glance.', 'neutron.', 'nova.flavor')
"""Allowed prefixes of custom constraints; Heat asks a service for each."""

_WITHOUT_EXTERNAL_ID = frozenset(
    {'2013-05-23', '2014-10-16', '2015-04-30', '2015-10-15', '2016-04-08'}
)

_LATE = frozenset({'get_attr', 'get_resource', 'Ref'})
"""Functions that have no value before the stack exists."""

_LATE_NAMES = frozenset({'OS::stack_id', 'OS::stack_name'})
"""Pseudo parameters of get_param that have another value in a preview."""

_VOLUME_ID = 'volume_id'
"""Property of a disk: a volume of the template, or an existing one."""

_DEEPEST = 64
"""The maximum depth of nested lists and mappings."""

_UNREADABLE = (
    TypeError,
    ValueError,
    yaml.YAMLError,
    # PyYAML raises these for !!int, !!float and !!bool with a wrong value.
    ArithmeticError,
    LookupError,
)

Resources = Mapping[str, Mapping[str, Any]]


def read(text: str) -> dict[str, Any]:
    """Return the parsed template, if all of it may be created.

    Heat is sent this value and never the text, which Heat might parse
    differently.

    :raises: InvalidInput
    """
    try:
        found = _parse(text)
        _check_nesting(found)
        # Through JSON: then all names are strings, and there are no objects
        # that JSON does not have. encode() refuses strings that can not be
        # sent as UTF-8.
        template: dict[str, Any] = json.loads(
            json.dumps(found, allow_nan=False, ensure_ascii=False).encode()
        )
    except _UNREADABLE as error:
        raise exception.InvalidInput(
            f'The template can not be read: {error}'
        ) from error
    _check(template)
    return template


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise _nested() from None
    except ValueError:
        _check_events(text)
        return yaml.load(text, _Loader)  # noqa: S506


def _check_events(text: str) -> None:
    """Refuse YAML with aliases, which can expand to far more than the text,
    or with too many levels.

    :raises: InvalidInput
    """
    depth = 0
    for event in yaml.parse(text, _Loader):
        if isinstance(event, yaml.AliasEvent):
            raise exception.InvalidInput(
                f'The template has an alias of YAML, *{event.anchor}: write '
                'out what it stands for'
            )
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise _nested()


def _check_nesting(found: Any) -> None:
    """:raises: InvalidInput"""
    level = [found]
    for _ in range(_DEEPEST):
        level = [
            child
            for each in level
            if isinstance(each, dict | list)
            for child in (each.values() if isinstance(each, dict) else each)
        ]
    if level:
        raise _nested()


def _nested() -> exception.InvalidInput:
    return exception.InvalidInput(
        'The template can not be read: it has more than '
        f'{_DEEPEST} levels of lists and mappings'
    )


_SafeLoader: Any = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)


class _Loader(_SafeLoader):  # type: ignore[misc]
    """Parses YAML as Heat does. libyaml takes a tenth of the time of the
    Python parser, and nova-api does nothing else meanwhile."""


# Heat reads timestamps as strings.
_Loader.add_constructor(
    'tag:yaml.org,2002:timestamp', yaml.SafeLoader.construct_yaml_str
)


def _check(template: Any) -> None:
    """:raises: InvalidInput"""
    if not isinstance(template, dict) or not isinstance(
        template.get('heat_template_version'), str
    ):
        raise exception.InvalidInput(
            'The template has no heat_template_version: only HOT, the '
            'language of Heat, is understood here'
        )
    for name in sorted(template.keys() - _SECTIONS):
        raise exception.InvalidInput(
            f'The template has a section {name}, which is not understood here'
        )
    if not isinstance(template.get('resources'), dict):
        raise exception.InvalidInput('The template has no resources')
    for key, _ in _mappings(template):
        if key == 'get_file':
            raise exception.InvalidInput(
                'The template has get_file, and no files come with it: write '
                'their content into the template, or into a parameter'
            )
    _check_parameters(template.get('parameters'))
    for name, condition in _mappings(template.get('conditions')):
        _refuse_unknown('the template', f'condition {name}', condition)
    for name, definition in template['resources'].items():
        _check_resource(name, definition)


def _mappings(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the items of all mappings at any depth."""
    if isinstance(value, dict):
        yield from value.items()
        for each in value.values():
            yield from _mappings(each)
    elif isinstance(value, list):
        for each in value:
            yield from _mappings(each)


def _check_parameters(parameters: Any) -> None:
    """:raises: InvalidInput"""
    for key, value in _mappings(parameters):
        if key == 'custom_constraint' and not str(value).startswith(
            _CONSTRAINTS
        ):
            raise exception.InvalidInput(
                f'The template has the custom_constraint {value}: only those '
                f'of {", ".join(_CONSTRAINTS)} are allowed here'
            )


def _check_resource(name: str, definition: Any) -> None:
    """:raises: InvalidInput"""
    kind = _check_definition(name, definition)
    if kind != GROUP:
        return
    properties = definition.get('properties') or {}
    within = properties.get('resource_def')
    if _check_definition(f'resource_def of {name}', within) == GROUP:
        raise exception.InvalidInput(
            f'Resource {name} is a group of groups, which is not allowed here'
        )
    _refuse_unknown(name, 'count', properties.get('count'))


def _check_definition(name: str, definition: Any) -> str:
    """Return the type of a resource.

    :raises: InvalidInput
    """
    kind = definition.get('type') if isinstance(definition, dict) else None
    if not isinstance(kind, str) or kind not in TYPES:
        raise exception.InvalidInput(
            f'Resource {name} has the type {kind}, which a lease can not '
            f'have: {", ".join(sorted(TYPES))} are possible'
        )
    properties = definition.get('properties') or {}
    if not isinstance(properties, dict):
        raise exception.InvalidInput(
            f'The properties of resource {name} are none'
        )
    _refuse_unknown(name, 'condition', definition.get('condition'))
    allowed = _PROPERTIES.get(kind, properties.keys())
    for each in sorted(properties.keys() - allowed):
        raise exception.InvalidInput(
            f'Resource {name} has {each}, which a {kind} of a lease can not '
            f'have: {_HINTS.get(each, "leave it out")}'
        )
    if kind == SERVER:
        _refuse_unknown(name, 'flavor', properties.get('flavor'))
        disks = 'block_device_mapping_v2'
        _refuse_unknown(name, disks, _without_volumes(properties.get(disks)))
    return kind


def _without_volumes(disks: Any) -> Any:
    """Return the disks of a server without their volume IDs: Heat may learn
    these as late as when it creates the server."""
    if isinstance(disks, dict):
        return {
            key: _without_volumes(each)
            for key, each in disks.items()
            if key != _VOLUME_ID
        }
    if isinstance(disks, list):
        return [_without_volumes(each) for each in disks]
    return disks


def _refuse_unknown(name: str, key: str, value: Any) -> None:
    """Refuse a value that is not known before the stack is created, or that
    is different in a preview.

    :raises: InvalidInput
    """
    if any(_is_late(each, argument) for each, argument in _mappings(value)):
        raise exception.InvalidInput(
            f'The {key} of {name} is not known before the stack is made: '
            'write it, or give it by a parameter'
        )


def _is_late(function: str, argument: Any) -> bool:
    if function != 'get_param':
        return function in _LATE
    name = argument[0] if isinstance(argument, list) and argument else argument
    # An expression in place of a name may evaluate to one of these names.
    return not isinstance(name, str) or name in _LATE_NAMES


def created(template: Mapping[str, Any]) -> Resources:
    """Return name -> definition of the resources that Heat would create,
    without the members of groups. Resources with an external_id exist
    already."""
    return {
        name: definition
        for name, definition in template['resources'].items()
        if 'external_id' not in definition
    }


def check_adoptable(
    template: Mapping[str, Any],
    name: str,
    sizes: Collection[str],
    others: Collection[str],
) -> None:
    """Refuse a resource that can not be replaced by one that the lease has
    created.

    :param sizes: the properties that the lease needs to create the object
    :param others: all other properties that the resource may have
    :raises: InvalidInput
    """
    version = template['heat_template_version']
    if version in _WITHOUT_EXTERNAL_ID:
        raise exception.InvalidInput(
            f'A template of version {version} can not have {name} from a '
            'lease: use heat_template_version 2016-10-14 or a later one'
        )
    definition = template['resources'][name]
    properties = definition.get('properties') or {}
    for each in sorted(properties.keys() - {*sizes, *others}):
        raise exception.InvalidInput(
            f'Resource {name} has {each}, which what the lease has for it '
            'can not have: leave it out'
        )
    for each in sizes:
        _refuse_unknown(name, each, properties.get(each))


def adopt(
    template: Mapping[str, Any], made: Mapping[str, str]
) -> dict[str, Any]:
    """Return the template with an external_id at the resources that exist
    already; Heat neither creates nor deletes these.

    A floating IP is tied to its port by an additional association resource,
    which has the dependencies that the floating IP would have had.

    :param made: name of a resource -> the ID of the existing object
    """
    legs = [
        name
        for name, definition in template['resources'].items()
        if definition['type'] == _LEG
    ]
    resources = dict(template['resources'])
    for name, external_id in made.items():
        definition = resources[name]
        properties = definition.get('properties') or {}
        resources[name] = {
            **_kept(definition, ('type', 'condition')),
            'external_id': external_id,
        }
        if definition['type'] == ADDRESS and 'port_id' in properties:
            resources[_free(f'{name}-association', resources)] = {
                **_kept(definition, ('condition',)),
                'type': ASSOCIATION,
                'depends_on': [*_depends_on(definition), *legs],
                'properties': {
                    'floatingip_id': {'get_resource': name},
                    **_kept(properties, ('port_id', 'fixed_ip_address')),
                },
            }
    return {**template, 'resources': resources}


def _depends_on(definition: Mapping[str, Any]) -> list[Any]:
    found = definition.get('depends_on') or []
    return found if isinstance(found, list) else [found]


def _kept(found: Mapping[str, Any], keys: Collection[str]) -> dict[str, Any]:
    return {key: found[key] for key in keys if key in found}


def _free(name: str, resources: Collection[str]) -> str:
    while name in resources:
        name += '-'
    return name

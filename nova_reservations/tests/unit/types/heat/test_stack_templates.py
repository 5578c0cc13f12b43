# SPDX-License-Identifier: Apache-2.0
"""Templates of stacks: their allowed contents, and refusals of all else.

Decision 0058: doc/source/decisions/0058-stacks
"""

import json

import pytest

from nova_reservations import exception
from nova_reservations.types.heat import stack_templates

YAML = """
heat_template_version: 2018-08-31
description: as people write them
parameters:
  flavor: {type: string, constraints: [{custom_constraint: nova.flavor}]}
resources:
  one:
    type: OS::Nova::Server
    properties:
      flavor: {get_param: flavor}
      user_data: |
        #!/bin/sh
        echo yes
"""


def template(definition, **sections):
    return json.dumps(
        {
            'heat_template_version': '2018-08-31',
            'resources': {'it': definition},
            **sections,
        }
    )


def of(kind, **properties):
    return {'type': kind, 'properties': properties}


def group(within, count=2):
    return of(stack_templates.GROUP, count=count, resource_def=within)


def refusal(text):
    with pytest.raises(exception.InvalidInput) as caught:
        stack_templates.read(text)
    return str(caught.value)


def test_yaml_is_read_as_heat_reads_it():
    found = stack_templates.read(YAML)
    assert found['heat_template_version'] == '2018-08-31'
    assert found['resources']['one']['properties'] == {
        'flavor': {'get_param': 'flavor'},
        'user_data': '#!/bin/sh\necho yes\n',
    }


def test_json_is_read():
    text = template(of(stack_templates.SERVER, flavor='small'))
    assert stack_templates.read(text) == json.loads(text)


@pytest.mark.parametrize(
    ('text', 'match'),
    [
        ('resources: [', 'can not be read'),
        ('a: !!python/object:os.system {}', 'can not be read'),
        ('a: !!binary aGVsbG8=', 'can not be read'),
        ('a: .nan', 'can not be read'),
        (f'a: {"9" * 5000}', 'can not be read'),
        ("a: !!int ''", 'can not be read'),
        ('a: !!bool neither', 'can not be read'),
        (f'a: 1{":1" * 999}.5', 'can not be read'),
        (r'{"a": "\ud800"}', 'can not be read'),
        ('[' * 30_000, '64 levels'),
        ('- ' * 30_000, '64 levels'),
        ('[' * 100 + ']' * 100, '64 levels'),
        ('{"a":' * 10_000, '64 levels'),
        ('a: &a [1]\nb: *a', r'alias of YAML, *a'),
        ('a: &a {b: c}\nd: {<<: *a}', 'alias of YAML, *a'),
        ('just words', 'no heat_template_version'),
        ('AWSTemplateFormatVersion: "2010-09-09"', 'only HOT'),
        ('heat_template_version: rocky', 'no resources'),
        ('heat_template_version: rocky\nresources: []', 'no resources'),
    ],
)
def test_text_that_is_no_template_is_refused(text, match):
    assert match in refusal(text)


@pytest.mark.parametrize(
    'kind',
    [
        'OS::Nova::KeyPair',
        'OS::Nova::Flavor',
        'OS::Nova::Quota',
        'OS::Nova::ServerGroup',
        'OS::Keystone::User',
        'OS::Heat::Stack',
        'OS::Heat::AutoScalingGroup',
        'OS::Heat::ScalingPolicy',
        'OS::Heat::SoftwareDeployment',
        'OS::Heat::TestResource',
        'OS::Heat::WaitConditionHandle',
        'OS::Barbican::Secret',
        'OS::Mistral::CronTrigger',
        'OS::Trove::Instance',
        'OS::Cinder::VolumeType',
        'OS::Neutron::ProviderNet',
        'OS::Neutron::RBACPolicy',
        'AWS::EC2::Instance',
        'http://169.254.169.254/latest',
        'file:///etc/shadow',
        'other.yaml',
        None,
        ['OS::Nova::Server'],
    ],
)
def test_a_type_that_is_not_known_is_refused(kind):
    assert 'which a lease can not have' in refusal(template({'type': kind}))
    assert 'resource_def of it' in refusal(template(group({'type': kind})))


@pytest.mark.parametrize(
    'definition', [None, [], 'OS::Nova::Server', {'properties': {}}]
)
def test_a_resource_that_is_none_is_refused(definition):
    assert 'Resource it has the type None' in refusal(template(definition))


@pytest.mark.parametrize(
    'name',
    [
        'key_name',
        'availability_zone',
        'scheduler_hints',
        'deployment_swift_data',
        'software_config_transport',
        'block_device_mapping',
        # Functions of Heat that stand for all properties together.
        'get_param',
        'if',
    ],
)
def test_a_property_of_a_server_that_is_not_known_is_refused(name):
    definition = of(stack_templates.SERVER, flavor='small', **{name: 'x'})
    assert f'has {name}' in refusal(template(definition))
    assert f'has {name}' in refusal(template(group(definition)))


def test_a_group_has_one_definition_that_is_written_out():
    assert 'has the type None' in refusal(
        template(group({'get_param': 'definition'}))
    )
    assert 'a group of groups' in refusal(
        template(group(group(of(stack_templates.SERVER))))
    )
    assert 'are none' in refusal(
        template({'type': stack_templates.GROUP, 'properties': [1]})
    )


def test_a_group_has_a_count_that_is_known():
    for count in ({'get_attr': ['other', 'value']}, {'get_resource': 'other'}):
        assert 'count of it is not known' in refusal(
            template(group(of(stack_templates.SERVER), count))
        )
    stack_templates.read(
        template(group(of(stack_templates.SERVER), {'get_param': 'count'}))
    )


def test_no_files_come_with_it():
    definition = of(
        stack_templates.SERVER, user_data={'get_file': 'http://somewhere'}
    )
    assert 'get_file' in refusal(template(definition))
    outputs = {'o': {'value': [{'get_file': 'file:///etc/shadow'}]}}
    assert 'get_file' in refusal(
        template(of(stack_templates.SERVER), outputs=outputs)
    )


@pytest.mark.parametrize('name', ['nova.keypair', 'keystone.user', '', 7])
def test_heat_looks_nothing_up_that_is_another_users(name):
    parameters = {
        'p': {'type': 'string', 'constraints': [{'custom_constraint': name}]}
    }
    assert 'custom_constraint' in refusal(
        template(of(stack_templates.SERVER), parameters=parameters)
    )


@pytest.mark.parametrize('section', ['Resources', 'environment', 'encrypted'])
def test_a_section_that_is_not_known_is_refused(section):
    text = template(of(stack_templates.SERVER), **{section: {}})
    assert f'section {section}' in refusal(text)


def test_resources_that_are_there_already_are_not_created():
    there = {**of(stack_templates.VOLUME, size=1), 'external_id': 'x'}
    assert stack_templates.created(stack_templates.read(template(there))) == {}


def test_adopted_resources_keep_their_condition_and_no_properties():
    volume = {**of(stack_templates.VOLUME, size=1), 'condition': 'wanted'}
    address = {
        **of(
            stack_templates.ADDRESS,
            floating_network='n',
            port_id='p',
            fixed_ip_address='f',
        ),
        'condition': 'wanted',
        'depends_on': 'other',
    }
    found = stack_templates.adopt(
        {
            'resources': {
                'volume': volume,
                'address': address,
                'address-association': {'type': 'OS::Heat::Value'},
                'leg': {'type': 'OS::Neutron::RouterInterface'},
            }
        },
        {'volume': 'id-v', 'address': 'id-a'},
    )
    assert found['resources'] == {
        'volume': {
            'type': stack_templates.VOLUME,
            'condition': 'wanted',
            'external_id': 'id-v',
        },
        'address': {
            'type': stack_templates.ADDRESS,
            'condition': 'wanted',
            'external_id': 'id-a',
        },
        'address-association': {'type': 'OS::Heat::Value'},
        'leg': {'type': 'OS::Neutron::RouterInterface'},
        'address-association-': {
            'type': stack_templates.ASSOCIATION,
            'depends_on': ['other', 'leg'],
            'condition': 'wanted',
            'properties': {
                'floatingip_id': {'get_resource': 'address'},
                'port_id': 'p',
                'fixed_ip_address': 'f',
            },
        },
    }


class TestPreviews:
    """A preview must show the resources that are created later, although its
    stack has another name and no ID."""

    @pytest.mark.parametrize(
        'late',
        [
            {'get_param': 'OS::stack_name'},
            {'get_param': ['OS::stack_id']},
            {'list_join': ['', [{'get_param': 'OS::stack_name'}]]},
            {'get_param': {'get_param': 'which'}},
            {'get_param': []},
            {'get_attr': ['other', 'value']},
            {'Ref': 'OS::StackName'},
        ],
    )
    def test_nothing_counts_that_is_not_known_before(self, late):
        server = of(stack_templates.SERVER, flavor='small')
        disks = [{'image': late}]
        refused = {
            'flavor of it': of(stack_templates.SERVER, flavor=late),
            'flavor of resource_def of it': group(
                of(stack_templates.SERVER, flavor=late)
            ),
            'count of it': group(server, count=late),
            'condition of it': {**server, 'condition': {'equals': [late, 1]}},
            'block_device_mapping_v2 of it': of(
                stack_templates.SERVER, block_device_mapping_v2=disks
            ),
        }
        for what, definition in refused.items():
            assert f'The {what} is not known' in refusal(template(definition))
        conditions = {'big': {'not': {'equals': [late, 1]}}}
        assert 'The condition big of the template is not known' in refusal(
            template(server, conditions=conditions)
        )

    def test_whatever_else_may_bear_the_name_of_the_stack(self):
        server = of(
            stack_templates.SERVER,
            name={'get_param': 'OS::stack_name'},
            flavor={'get_param': ['flavors', 0]},
            block_device_mapping_v2=[
                {'volume_id': {'get_resource': 'disk'}, 'boot_index': 0}
            ],
        )
        conditions = {'big': {'equals': [{'get_param': 'OS::project_id'}, 1]}}
        text = template(server, conditions=conditions)
        assert stack_templates.read(text)['conditions'] == conditions

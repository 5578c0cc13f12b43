# SPDX-License-Identifier: Apache-2.0
"""Clusters of Magnum: a type of resource that is made of others."""

from collections.abc import Mapping
from typing import Any
from typing import ClassVar
import urllib.parse

from keystoneauth1 import adapter
from keystoneauth1 import exceptions
from keystoneauth1 import loading
from oslo_config import cfg

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.types import base
from nova_reservations.types import complex as complex_types

GROUP = 'magnum'
COUNT = {'type': 'integer', 'minimum': 1, 'maximum': 100}


class Cluster(complex_types.Complex):
    """Clusters whose servers have slots of the flavors that Magnum's template
    names."""

    update_schema: ClassVar[Mapping[str, Any]] = {
        'type': 'object',
        'properties': {'node_count': COUNT},
        'additionalProperties': False,
    }
    schema: ClassVar[Mapping[str, Any]] = {
        'type': 'object',
        'properties': {
            'cluster_template': {'type': 'string', 'maxLength': 255},
            'master_count': COUNT,
            'node_count': COUNT,
        },
        'required': ['cluster_template', 'node_count'],
        'additionalProperties': False,
    }

    def __init__(self, cloud: ports.Cloud, conf: cfg.ConfigOpts) -> None:
        super().__init__(cloud, conf)
        loading.register_auth_conf_options(conf, GROUP)
        loading.register_session_conf_options(conf, GROUP)

    def look_up(
        self, asked: Mapping[str, Any], project_id: str
    ) -> Mapping[str, Any]:
        if 'cluster_template' not in asked:
            return asked
        magnum = Magnum(self.conf, project_id)
        found = magnum.get('clustertemplates', asked['cluster_template'])
        if found is None:
            raise exception.InvalidInput(
                f'Failed to find cluster template {asked["cluster_template"]}'
            )
        return {
            'master_count': 1,
            **asked,
            'cluster_template': found['uuid'],
            'masters': found['master_flavor_id'],
            'nodes': found['flavor_id'],
        }

    def validate(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        return dict(asked)

    def expand(
        self, params: Mapping[str, Any], project_id: str
    ) -> list[complex_types.Part]:
        counts = {'masters': 'master_count', 'nodes': 'node_count'}
        return [
            complex_types.Part(
                name,
                'flavor:instance',
                {
                    'flavor_id': params[name],
                    'amount': params[count],
                    'affinity': None,
                    # Magnum's servers find them without being told.
                    'consume': 'open',
                },
            )
            for name, count in counts.items()
        ]

    def start(self, booking: base.Booking) -> base.Waiting | None:
        magnum = Magnum(self.conf, booking.lease.project_id)
        params = booking.reservation.params
        found = magnum.get('clusters', name(booking))
        if found is None:
            booking.check()
            magnum.post(
                {
                    'name': name(booking),
                    'cluster_template_id': params['cluster_template'],
                    'master_count': params['master_count'],
                    'node_count': params['node_count'],
                }
            )
            return base.Waiting('Magnum is asked for the cluster')
        if found['status'] == 'CREATE_FAILED':
            raise exception.CloudRefused(
                what='The cluster', reason=str(found['status_reason'])
            )
        if found['status'] == 'CREATE_IN_PROGRESS':
            return base.Waiting('Magnum creates the cluster')
        return None

    def update(self, booking: base.Booking) -> None:
        magnum = Magnum(self.conf, booking.lease.project_id)
        count = booking.reservation.params['node_count']
        found = magnum.get('clusters', name(booking))
        if found is not None and found['node_count'] != count:
            booking.check()
            magnum.resize(found['uuid'], count)

    def end(self, booking: base.Booking) -> base.Waiting | None:
        magnum = Magnum(self.conf, booking.lease.project_id)
        found = magnum.get('clusters', name(booking))
        if found is None:
            return None
        if found['status'] != 'DELETE_IN_PROGRESS':
            booking.check()
            magnum.delete(found['uuid'])
        return base.Waiting('Magnum deletes the cluster')


def name(booking: base.Booking) -> str:
    """Return the name by which a worker that comes later knows it again."""
    return f'reservation-{booking.reservation.id}'


class Magnum:
    """Magnum as a project has it: the user of [magnum] has a role there."""

    def __init__(self, conf: cfg.ConfigOpts, project_id: str) -> None:
        auth = loading.load_auth_from_conf_options(
            conf, GROUP, project_id=project_id
        )
        session = loading.load_session_from_conf_options(
            conf, GROUP, auth=auth
        )
        self._api = adapter.Adapter(session, service_type='container-infra')

    def get(self, kind: str, known_as: str) -> dict[str, Any] | None:
        try:
            return self._send('GET', kind, known_as)
        except exceptions.NotFound:
            return None

    def post(self, cluster: Mapping[str, Any]) -> None:
        self._send('POST', 'clusters', json=cluster)

    def resize(self, uuid: str, node_count: int) -> None:
        change = {'op': 'replace', 'path': '/node_count', 'value': node_count}
        self._send('PATCH', 'clusters', uuid, json=[change])

    def delete(self, uuid: str) -> None:
        self._send('DELETE', 'clusters', uuid)

    def _send(self, method: str, *path: str, **options: Any) -> Any:
        url = '/'.join(urllib.parse.quote(each, safe='') for each in path)
        try:
            answer = self._api.request(f'/{url}', method, **options)
        except exceptions.NotFound:
            raise
        except exceptions.HTTPClientError as error:
            raise exception.CloudRefused(
                what='Magnum', reason=str(error)
            ) from error
        except exceptions.ClientException as error:
            raise exception.CloudUnavailable(
                service='Magnum', reason=str(error)
            ) from error
        return answer.json() if answer.content else None

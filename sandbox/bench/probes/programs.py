# SPDX-License-Identifier: Apache-2.0
"""Nova's programs in this process, with and without our code."""

from collections.abc import Iterator
import os
import sys
from typing import Any

from sandbox import layout as lo


def become_nova(layout: lo.Layout) -> None:
    """Configure Nova in this process, as one of its own programs does."""
    from nova import config
    from nova import objects as nova_objects

    nova_objects.register_all()
    config.parse_args(
        ['probe', f'--config-file={layout.etc}/nova.conf'],
        default_config_files=[],
    )


class Api:
    """Nova's API in this process, with and without our code."""

    def __init__(self, layout: lo.Layout, ours: bool, nova: bool) -> None:
        os.environ['OS_NOVA_CONFIG_DIR'] = str(layout.etc)
        # Importing the module creates an application, with our code.
        sys.argv = ['nova-api']
        from nova.api.openstack import wsgi_app

        paste = layout.etc / 'api-paste.ini'
        plain = layout.directory / 'plain-paste.ini'
        plain.write_text(
            paste.read_text().replace(
                'keystonecontext reservations', 'keystonecontext'
            )
        )
        wsgi_app.CONFIG_FILES[0] = str(paste if ours else plain)
        self.applications = [
            wsgi_app.init_application('osapi_compute', 'nova-api')
        ]
        if ours and nova:
            from paste import deploy

            self.applications.insert(
                0, deploy.loadapp(f'config:{plain}', name='osapi_compute')
            )

    def ask(
        self,
        application: Any,
        token: str,
        method: str,
        path: str,
        **fields: Any,
    ) -> Any:
        request = self._request(token, method, path, **fields)
        answer = self._answer(application, request)
        return answer.json if answer.body else None

    def pieces(
        self, application: Any, token: str, path: str
    ) -> Iterator[bytes]:
        """Yield the pieces of an answer, like a web server does."""
        request = self._request(token, 'GET', path)
        yield from self._answer(application, request).app_iter

    def _answer(self, application: Any, request: Any) -> Any:
        answer = request.get_response(application)
        if answer.status_int >= 400:
            raise RuntimeError(
                f'{request.method} {request.path}: {answer.status} '
                f'{answer.text}'
            )
        return answer

    def _request(
        self, token: str, method: str, path: str, **fields: Any
    ) -> Any:
        import webob

        return webob.Request.blank(
            f'/v2.1{path}',
            method=method,
            headers={
                'X-Auth-Token': token,
                'OpenStack-API-Version': 'compute 2.90',
            },
            **fields,
        )


class Scheduler:
    """A nova-scheduler's manager in this process."""

    def __init__(self, layout: lo.Layout, ours: bool) -> None:
        become_nova(layout)
        from nova import context
        from nova import objects as nova_objects
        from nova.conf import CONF
        from nova.scheduler import manager

        # Nobody reports for hosts that are rows only.
        CONF.set_override('service_down_time', 10**6)
        if not ours:
            names = CONF.filter_scheduler.enabled_filters
            CONF.set_override(
                'enabled_filters',
                [name for name in names if name != 'ReservationFilter'],
                'filter_scheduler',
            )
            CONF.set_override(
                'available_filters',
                ['nova.scheduler.filters.all_filters'],
                'filter_scheduler',
            )
        self.manager = manager.SchedulerManager()
        self._context = context.get_admin_context()
        self._context.project_id = self._context.user_id = 'probe'
        (self._flavor,) = nova_objects.FlavorList.get_all(self._context)

    def select(self) -> str:
        """Schedule a new server; return its id."""
        import uuid

        from nova import objects as nova_objects

        server = str(uuid.uuid4())
        spec = nova_objects.RequestSpec.from_components(
            self._context,
            server,
            nova_objects.ImageMeta.from_dict({'min_disk': 0, 'min_ram': 0}),
            self._flavor,
            None,
            nova_objects.InstancePCIRequests(requests=[]),
            {},
            None,
            None,
        )
        self.manager.select_destinations(
            self._context,
            spec_obj=spec,
            instance_uuids=[server],
            return_objects=True,
        )
        return server

    def forget(self, server: str) -> None:
        self.manager.placement_client.delete_allocation_for_instance(
            self._context, server, force=True
        )

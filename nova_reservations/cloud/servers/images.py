# SPDX-License-Identifier: Apache-2.0
"""Images of servers, which the service user creates for their projects."""

from typing import Any

from nova import context as nova_context
from nova import exception as nova_exception
from nova.image import glance
from oslo_log import log

LOG = log.getLogger(__name__)

ORDER = 'nova_reservations_order'
"""The property of an image with the reason and the server it was made for."""

REQUEST = 'nova_reservations_request'
"""The property of an image with the request id of the attempt."""


class Images(glance.API):
    """Nova's image API, except that an image of a server belongs to the
    server's project.

    Nova would only share the image with the project, which then could use it,
    but neither find it in a list nor delete it.
    """

    def create(
        self,
        context: nova_context.RequestContext,
        image_info: dict[str, Any],
        data: Any = None,
    ) -> dict[str, Any]:
        # Read before create(), which removes this property.
        owner = image_info.get('properties', {}).get('instance_owner')
        image = super().create(context, image_info, data=data)
        if owner is None:
            return image
        try:
            self.update(
                context, image['id'], {'owner': owner, 'visibility': 'private'}
            )
        except nova_exception.NovaException:
            # Only administrators of glance may change the owner. The project
            # can still use a shared image.
            LOG.warning(
                'Image %(image)s stays shared with project %(project)s',
                {'image': image['id'], 'project': owner},
                exc_info=True,
            )
        return image

    def find(
        self, context: nova_context.RequestContext, key: str
    ) -> dict[str, Any] | None:
        """Return the image that was made under the key."""
        for image in self.get_all(context, filters={ORDER: key}):
            if image['properties'].get(ORDER) == key:
                return image
        return None


class Kept(Images):
    """Nova's image API, except that the image of a shelved server outlives
    the server."""

    def delete(
        self, context: nova_context.RequestContext, image_id: str
    ) -> None:
        LOG.info('Image %s is kept', image_id)

# SPDX-License-Identifier: Apache-2.0
"""Images of servers, made by the service user for the servers' projects."""

from typing import Any

from nova import context as nova_context
from nova import exception as nova_exception
from nova.image import glance
from oslo_log import log

LOG = log.getLogger(__name__)

ORDER = 'nova_reservations_order'
"""The property of an image that says why it was made, and of what."""

REQUEST = 'nova_reservations_request'
"""The property that says by which attempt at it."""


class Images(glance.API):
    """Nova's, except that what is made of a server belongs to its project.

    Nova shares it with the project, which can then use it, and can neither
    find it in a list nor delete it.
    """

    def create(
        self,
        context: nova_context.RequestContext,
        image_info: dict[str, Any],
        data: Any = None,
    ) -> dict[str, Any]:
        # Nova takes it out on the way.
        owner = image_info.get('properties', {}).get('instance_owner')
        image = super().create(context, image_info, data=data)
        if owner is None:
            return image
        try:
            self.update(
                context, image['id'], {'owner': owner, 'visibility': 'private'}
            )
        except nova_exception.NovaException:
            # Only glance's administrators may; shared it can be used, too.
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
    """Nova's, except that what a server was shelved as outlives it."""

    def delete(
        self, context: nova_context.RequestContext, image_id: str
    ) -> None:
        LOG.info('Image %s is kept', image_id)

# SPDX-License-Identifier: Apache-2.0
"""A whole Heat in the process of its API.

Its engine talks through oslo.messaging's fake driver, which reaches no
further than the process.
"""

import sys

from oslo_config import cfg
from oslo_service import backend

from sandbox import layout as lo

CONF = cfg.CONF


def configure(layout: lo.Layout) -> None:
    """Make the API, which is imported next, use threads and its own
    configuration file."""
    backend.init_backend(backend.BackendType.THREADING)
    sys.argv.append(f'--config-file={layout.etc}/heat.conf')


def start() -> None:
    """Start the engine."""
    from heat.engine import service
    from heat.engine import template
    from heat.rpc import api

    # Load the template extensions now: several requests must not do so at
    # the same time.
    template._get_template_extension_manager()
    service.EngineService(CONF.host, api.ENGINE_TOPIC).start()

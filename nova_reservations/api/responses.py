# SPDX-License-Identifier: Apache-2.0
"""Answers of the lease API, as JSON."""

from collections.abc import Mapping
import json
from typing import Any

import webob


def respond(status: int, body: Mapping[str, Any]) -> webob.Response:
    """Return the answer with this status and body."""
    return webob.Response(
        status=status,
        content_type='application/json',
        charset='UTF-8',
        text=json.dumps(body),
    )

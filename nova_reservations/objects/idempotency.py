# SPDX-License-Identifier: Apache-2.0
"""A key by which a client may repeat a request that makes something.

Decision 0036: doc/source/decisions/0036-a-create-may-be-repeated
"""

import dataclasses
import hashlib
import json
from typing import Any
from typing import Self


@dataclasses.dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """:ivar digest: of the key with its project and its user: other users may
        use the same key.

    :ivar body: the digest of the body of the request.
    """

    digest: str
    project_id: str
    body: str

    @classmethod
    def of(cls, project_id: str, user_id: str, key: str, body: Any) -> Self:
        return cls(
            _digest([project_id, user_id, key]), project_id, _digest(body)
        )


def _digest(value: Any) -> str:
    """Return a digest; it is the same for values that are equal as JSON."""
    text = json.dumps(value, sort_keys=True, separators=(',', ':'))
    return hashlib.sha256(text.encode()).hexdigest()

# SPDX-License-Identifier: Apache-2.0
"""Lists that are sent as they are read, however long they are."""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import itertools
import json
from typing import Any

from oslo_log import log as logging
import webob

LOG = logging.getLogger(__name__)

Item = dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Listing:
    """The answer of an action that lists.

    :ivar name: the key of the list.
    :ivar pages: the items, a page at a time. Where there is a limit, one
        item beyond it says that there are more.
    :ivar links: returns the links to what comes after an item.
    """

    name: str
    pages: Iterator[Sequence[Item]]
    limit: int | None = None
    links: Callable[[Item], Any] = lambda _: []


def response(status: int, listing: Listing) -> webob.Response:
    """Answer with a list: at once if it is short, else as it is read.

    What fails before there is much to send is raised, and becomes a status.
    Later it can only break the answer off: clients see no end of it.
    """
    texts = _texts(listing)
    # A page, and the end of the list.
    begun = list(itertools.islice(texts, 3))
    answer = webob.Response(
        status=status, content_type='application/json', charset='UTF-8'
    )
    if len(begun) < 3:
        answer.text = ''.join(begun)
    else:
        answer.app_iter = _sent(begun, texts)
    return answer


def _texts(listing: Listing) -> Iterator[str]:
    """Yield the answer in pieces, page by page, then its end."""
    told = 0
    last = None
    before = f'{{{json.dumps(listing.name)}: ['
    for page in listing.pages:
        kept = page
        if listing.limit is not None:
            kept = page[: max(listing.limit - told, 0)]
        told += len(page)
        if kept:
            yield before + ', '.join(map(json.dumps, kept))
            before, last = ', ', kept[-1]
    if last is None:
        yield before
    yield f']{_links(listing, told, last)}}}'


def _links(listing: Listing, told: int, last: Item | None) -> str:
    if last is None or listing.limit is None or told <= listing.limit:
        return ''
    return f', "{listing.name}_links": {json.dumps(listing.links(last))}'


def _sent(begun: list[str], texts: Iterator[str]) -> Iterator[bytes]:
    """Encode items as they are read.

    A server asks no more once its client is gone.
    """
    try:
        for text in itertools.chain(begun, texts):
            yield text.encode()
    except Exception as error:
        LOG.error('A list was broken off: %s', error)
        raise

# SPDX-License-Identifier: Apache-2.0
"""Lists of any length, which are sent while they are read."""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
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
    :ivar pages: the items, page by page. If there is a limit, one item beyond
        the limit means that there are more.
    :ivar links: returns the links to the list after an item.
    """

    name: str
    pages: Iterator[Sequence[Item]]
    limit: int | None = None
    links: Callable[[Item], Any] = lambda _: []


def limit_of(query: Mapping[str, str]) -> tuple[int | None, int | None]:
    """Return how many are shown, and how many are read: one more tells
    whether there is a next page. None: all."""
    if 'limit' not in query:
        return None, None
    limit = int(query['limit'])
    return limit, limit + 1


def response(status: int, listing: Listing) -> webob.Response:
    """Answer with a list: as a whole if it is short, else while it is read.

    An error in the first pages is raised, and becomes a status. A later error
    can only break off the answer, so that clients get incomplete JSON.
    """
    texts = _texts(listing)
    # A short list has two pieces: one page, and the end of the list.
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
    """Encode items while they are read.

    The WSGI server stops to iterate when the client is gone.
    """
    try:
        for text in itertools.chain(begun, texts):
            yield text.encode()
    except Exception as error:
        LOG.error('A list was broken off: %s', error)
        raise

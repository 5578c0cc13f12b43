# SPDX-License-Identifier: Apache-2.0
"""A storm: users, operators, other tools, workers and failures do anything, in
any order, through the API; what must always hold is read from the raw tables
and from what the API shows.

A story is data (``story.py``): it is drawn (``draw.py``), happens in a world
(``world.py``, ``runner.py``), and is shrunk if something does not hold
(``shrink.py``).
"""

FAILED = 1
"""The status with which a storm ends if a story has failed."""

EMPTY = 3
"""The status if all was well, but something was never reached."""

# SPDX-License-Identifier: Apache-2.0
"""Run one probe; print, as the last line, JSON of its results.

Arguments: the name of the probe, the folder of the sandbox, and JSON of the
arguments of the probe.
"""

from collections.abc import Callable
from collections.abc import Mapping
import json
import os
import pathlib
import sys
from typing import Any

from sandbox import layout as lo
from sandbox.bench.probes import aggregates
from sandbox.bench.probes import asked
from sandbox.bench.probes import breakdown
from sandbox.bench.probes import cpu
from sandbox.bench.probes import limited
from sandbox.bench.probes import memory

PROBES: Mapping[str, Callable[..., Any]] = {
    'aggregate': aggregates.one_by_one,
    'asked-by-boot': asked.boot,
    'asked-by-looks': asked.look,
    'asked-by-tasks': asked.tasks,
    'boot': cpu.boot,
    'create': breakdown.create,
    'explain': breakdown.explain,
    'limits': limited.create,
    'listing': memory.listing,
    'memory': memory.growth,
    'schedule': cpu.schedule,
}


def main() -> None:
    name, directory, arguments = sys.argv[1:]
    layout = lo.Layout.load(pathlib.Path(directory))
    found = PROBES[name](layout, **json.loads(arguments))
    print(f'\n{json.dumps(found)}', flush=True)
    # Do not wait for threads of the message bus.
    os._exit(0)


if __name__ == '__main__':
    main()

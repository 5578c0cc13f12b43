# SPDX-License-Identifier: Apache-2.0
"""Stories as data: they can be printed, repeated and made shorter."""

from collections.abc import Mapping
import dataclasses
import json
from typing import Any
from typing import Self

KILL = 'kill'
REFUSED = 'refused'
SILENT = 'silent'


@dataclasses.dataclass(frozen=True)
class Pause:
    """Something that happens in the middle of a step.

    :ivar at: the number of the write before which it happens, from 1; where
        fewer writes are made it does not happen.
    :ivar what: KILL: the process dies; REFUSED, SILENT: the cloud refuses the
        write, or does not answer; or a step that another process does
        meanwhile.
    """

    at: int
    what: 'str | Step'


@dataclasses.dataclass(frozen=True)
class Step:
    """:ivar verb: the name of what is done: see verbs.VERBS.

    :ivar values: the arguments of the verb.
    """

    verb: str
    values: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    pause: Pause | None = None

    @property
    def text(self) -> str:
        values = ', '.join(
            f'{name}={value!r}' for name, value in self.values.items()
        )
        told = f'{self.verb}({values})'
        if self.pause is None:
            return told
        what = self.pause.what
        meanwhile = what if isinstance(what, str) else what.text
        return f'{told}, and before write {self.pause.at}: {meanwhile}'

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        """Return the step that ``dataclasses.asdict`` made into data."""
        pause = data['pause']
        if pause is not None:
            what = pause['what']
            pause = Pause(
                pause['at'], what if isinstance(what, str) else cls.of(what)
            )
        return cls(data['verb'], data['values'], pause)


@dataclasses.dataclass(frozen=True)
class Story:
    """:ivar settings: name -> value: see world.SETTINGS."""

    settings: Mapping[str, Any]
    steps: tuple[Step, ...]

    def dumps(self) -> str:
        """Return JSON with a line for each step."""
        steps = ',\n'.join(
            json.dumps(dataclasses.asdict(step)) for step in self.steps
        )
        settings = json.dumps(dict(self.settings))
        return f'{{"settings": {settings},\n"steps": [\n{steps}\n]}}\n'

    @classmethod
    def loads(cls, text: str) -> Self:
        data = json.loads(text)
        return cls(data['settings'], tuple(map(Step.of, data['steps'])))

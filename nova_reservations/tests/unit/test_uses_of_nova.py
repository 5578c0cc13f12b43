# SPDX-License-Identifier: Apache-2.0
"""Every name of Nova that the product uses is in the table of hooks.

The test reads the product's source. It finds chains like ``api.API.shelve``
that begin at an import of Nova; strings that name an attribute, beside a class
or module of Nova, as wrapt takes them; and methods of Nova's objects, if an
argument is annotated with their class, or if the product keeps them under one
of the names below. It does not find attributes that exist on objects only,
such as fields of versioned objects.
"""

import ast
from collections.abc import Iterator
import functools
import importlib
import itertools
import pathlib
import sys

from nova import objects as nova_objects

import nova_reservations
from nova_reservations import hooks

PACKAGE = pathlib.Path(nova_reservations.__file__).parent

KEPT = {
    'compute_api': 'nova.compute.api.API',
    'image_api': 'nova.image.glance.API',
    '_service_group': 'nova.servicegroup.api.API',
    'servicegroup_api': 'nova.servicegroup.api.API',
}
"""Attributes that hold an object of Nova -> its class."""

OURS = {'nova.image.glance.API.find'}
"""Methods that our subclasses add."""


_CLIENT = 'nova.scheduler.client.report:SchedulerReportClient'
_DRIVER = 'nova.virt.driver:ComputeDriver'

UNSEEN = {
    # The code chooses the method by a variable name.
    f'{_CLIENT}.delete',
    f'{_CLIENT}.get',
    f'{_CLIENT}.post',
    f'{_CLIENT}.put',
    # The name is the default value of an argument.
    'nova.scheduler.utils:claim_resources_on_destination',
    # The product calls drivers, which are subclasses of this one.
    f'{_DRIVER}.get_diagnostics',
    f'{_DRIVER}.get_host_cpu_stats',
    f'{_DRIVER}.get_instance_diagnostics',
    f'{_DRIVER}.update_provider_tree',
}
"""Rows whose use the finder does not see."""


class _Finder(ast.NodeVisitor):
    """Collects the dotted names of Nova that a module uses."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}
        self.found: set[str] = set()

    def visit_Import(self, node: ast.Import) -> None:
        for name in node.names:
            if name.name.split('.')[0] == 'nova':
                self.known[name.asname or 'nova'] = (
                    name.name if name.asname else 'nova'
                )

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ''
        if module.split('.')[0] == 'nova':
            for name in node.names:
                self.known[name.asname or name.name] = f'{module}.{name.name}'

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        outside = dict(self.known)
        self.generic_visit(node)
        self.known = outside

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        match node.targets:
            case [ast.Name(id=name)] if dotted := self._dotted(node.value):
                self.known[name] = dotted

    def visit_arg(self, node: ast.arg) -> None:
        dotted = self._dotted(node.annotation) if node.annotation else None
        if dotted:
            self.known[node.arg] = dotted
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        dotted = self._dotted(node)
        if dotted is None:
            self.generic_visit(node)
        elif node.attr not in KEPT:
            self.found.add(dotted)

    def visit_Call(self, node: ast.Call) -> None:
        self._pairs(node.args)
        self.generic_visit(node)

    def visit_Tuple(self, node: ast.Tuple) -> None:
        self._pairs(node.elts)
        self.generic_visit(node)

    def _pairs(self, items: list[ast.expr]) -> None:
        for owner, name in itertools.pairwise(items):
            match name:
                case ast.Constant(value=str() as text) if text.replace(
                    '.', ''
                ).isidentifier() and (dotted := self._dotted(owner)):
                    self.found.add(f'{dotted}.{text}')

    def _dotted(self, node: ast.expr) -> str | None:
        match node:
            case ast.Name(id=name):
                return self.known.get(name)
            case ast.Attribute(attr=name) if name in KEPT:
                return KEPT[name]
            case ast.Attribute(value=value, attr=name):
                owner = self._dotted(value)
                return owner and f'{owner}.{name}'
        return None


def _is_of_nova(dotted: str) -> bool:
    """Return whether a name is Nova's own code: neither a method of ours, nor
    an option, which is an interface for operators."""
    return dotted not in OURS and not dotted.startswith('nova.conf.CONF.')


def _uses() -> Iterator[tuple[str, str]]:
    """Yield a name of Nova, and the file that uses it."""
    for path in sorted(PACKAGE.rglob('*.py')):
        file = path.relative_to(PACKAGE)
        if file.parts[0] in ('testing', 'tests'):
            continue
        finder = _Finder()
        finder.visit(ast.parse(path.read_text()))
        for dotted in finder.found:
            if _is_of_nova(dotted):
                yield _defined(dotted), str(file)


@functools.cache
def _defined(dotted: str) -> str:
    """Return the name under the module that defines its class."""
    parts = dotted.split('.')
    for length in range(len(parts), 0, -1):
        try:
            module = importlib.import_module('.'.join(parts[:length]))
        except ImportError:
            continue
        found, path = module, []
        for name in parts[length:]:
            if isinstance(found, type) and not _is_on_class(found, name):
                break
            found = getattr(found, name, None)
            path.append(name)
            if isinstance(found, type):
                module, path = sys.modules[found.__module__], [found.__name__]
        return ':'.join((module.__name__, '.'.join(path)))
    return dotted


def _is_on_class(owner: type, name: str) -> bool:
    """Return whether the attribute is Nova's, and defined on the class.

    Fields are properties, and do not count; nor do attributes that are only
    set on objects.
    """
    for kind in owner.__mro__:
        if name in vars(kind):
            return kind.__module__.startswith('nova.') and not isinstance(
                vars(kind)[name], property
            )
    # Metaclasses make columns and the like.
    return hasattr(owner, name)


def _rows() -> dict[str, hooks.Hook]:
    return {f'{hook.module}:{hook.attribute}': hook for hook in hooks.HOOKS}


def _covers(row: str, use: str) -> bool:
    """Return whether a row of the table covers a use.

    A use of a class is covered by a row of one of its attributes. A row of an
    object that is no class covers its attributes; those of a class need rows
    of their own.
    """
    if use == row or row.startswith(f'{use}.'):
        return True
    return use.startswith(f'{row}.') and _rows()[row].expected != 'type'


def _found() -> set[tuple[str, str]]:
    nova_objects.register_all()
    # Uses without a name are modules: passed on, or imported for an effect.
    return {(use, file) for use, file in _uses() if not use.endswith(':')}


def test_uses_of_nova_are_in_the_table():
    rows = _rows()
    missing = {
        (use, file)
        for use, file in _found()
        if not any(_covers(row, use) for row in rows)
    }
    assert not missing


def test_rows_of_the_table_are_used():
    uses = {use for use, _ in _found()}
    unused = {
        row for row in _rows() if not any(_covers(row, use) for use in uses)
    }
    assert unused == UNSEEN

# SPDX-License-Identifier: Apache-2.0
"""The metadata that pip installs for example plugins."""

import pathlib
import tomllib


def leave(project: pathlib.Path, site: pathlib.Path) -> None:
    """Write the metadata of a project's plugins into a folder of packages.

    :param project: its folder, with pyproject.toml
    """
    content = tomllib.loads((project / 'pyproject.toml').read_text())
    name, version = content['project']['name'], content['project']['version']
    folder = site / f'{name}-{version}.dist-info'
    folder.mkdir()
    (folder / 'METADATA').write_text(f'Name: {name}\nVersion: {version}\n')
    (folder / 'entry_points.txt').write_text(
        '\n'.join(
            f'[{group}]\n{point} = {target}'
            for group, points in content['project']['entry-points'].items()
            for point, target in points.items()
        )
    )

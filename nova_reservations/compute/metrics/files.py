# SPDX-License-Identifier: Apache-2.0
"""The files of the configuration, and whether they have changed.

They are looked at again and again, because a nova-compute can not be told by
SIGHUP: that of Nova 34 does not survive one.
"""

import pathlib

from oslo_config import cfg
from oslo_log import log

from nova_reservations import conf

LOG = log.getLogger(__name__)

Look = dict[pathlib.Path, tuple[int, int, int]]


class Files:
    """The files that a ConfigOpts was read from."""

    def __init__(self, options: cfg.ConfigOpts) -> None:
        self._conf = options
        self._seen = self._look()

    def reload(self) -> bool:
        """Give mutable options the values of files that have changed.

        :returns: whether there may be new values
        """
        found = self._look()
        if found == self._seen:
            return False
        self._seen = found
        try:
            self._try()
            self._conf.mutate_config_files()
        except (cfg.Error, OSError) as error:
            LOG.error('The configuration stays as it was: %s', error)
            return False
        return True

    def _try(self) -> None:
        """Read our options from the files as they are now.

        :raises: cfg.Error if they can't be read, as they would
            whenever an option is asked for afterwards
        """
        trial = cfg.ConfigOpts()
        for group, options in conf.list_opts():
            trial.register_opts(options, group=cfg.OptGroup(group.name))
        trial(
            [],
            default_config_files=self._conf.config_file or [],
            default_config_dirs=self._conf.config_dir or [],
        )
        for group, options in conf.list_opts():
            for option in options:
                _ = trial[group.name][option.dest]

    def _look(self) -> Look:
        paths = [pathlib.Path(name) for name in self._conf.config_file or ()]
        for name in self._conf.config_dir or ():
            paths += sorted(pathlib.Path(name).glob('*.conf'))
        look: Look = {}
        for path in paths:
            try:
                status = path.stat()
            except FileNotFoundError:
                # An editor is replacing it: the next look finds it.
                continue
            look[path] = (status.st_mtime_ns, status.st_size, status.st_ino)
        return look

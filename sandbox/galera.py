# SPDX-License-Identifier: Apache-2.0
"""A Galera cluster on one machine, for as long as it is needed.

Each node is a MariaDB with its own folder and ports. All nodes start from
copies of one empty folder, so that no state has to be transferred.
"""

from collections.abc import Iterator
import contextlib
import functools
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import threading
import time
import uuid

import pymysql
import sqlalchemy

from sandbox import person

#: Where distributions install the Galera provider of MariaDB.
PROVIDERS = (
    pathlib.Path('/usr/lib/galera/libgalera_smm.so'),
    pathlib.Path('/usr/lib64/galera/libgalera_smm.so'),
)
PROGRAMS = ('mariadbd', 'mariadb-install-db')

#: Seconds in which a node must be up, or the others must notice its absence.
PATIENCE = 60

#: Options for a few small tables. Commits need not survive the machine; a node
#: that was killed gets what it has lost from the others.
_FRUGAL = (
    '--innodb-buffer-pool-size=32M',
    '--innodb-log-file-size=16M',
    '--innodb-flush-log-at-trx-commit=0',
    '--innodb-doublewrite=0',
    '--innodb-flush-method=nosync',
    '--sync-frm=OFF',
    '--performance-schema=OFF',
    '--skip-name-resolve',
    '--skip-log-bin',
)

_AT = """\
# GALERA saved state
version: 2.1
uuid:    {}
seqno:   {}
safe_to_bootstrap: 1
"""


def program(name: str) -> str | None:
    """Return the path of a program, also from the folders of root's PATH."""
    return shutil.which(name, path=f'{os.environ["PATH"]}:/usr/sbin:/sbin')


def missing() -> str | None:
    """Return a requirement of the cluster that is missing; None: none is."""
    for name in PROGRAMS:
        if program(name) is None:
            return name
    if not any(provider.exists() for provider in PROVIDERS):
        return f'Galera, at any of {", ".join(map(str, PROVIDERS))}'
    return None


class Node:
    """One MariaDB of the cluster.

    :ivar url: of SQLAlchemy, without a database.
    """

    def __init__(
        self, name: str, directory: pathlib.Path, ports: list[int]
    ) -> None:
        self.name = name
        self.directory = directory
        self.data = directory / 'data'
        self.port, self.group_port, self.change_port = ports
        self.url = f'mysql+pymysql://root@127.0.0.1:{self.port}'
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, peers: str) -> None:
        """Begin to start the node.

        :param peers: the addresses of the nodes to join, which send the node
            what it lacks; empty for the first node of a cluster
        """
        provider = next(each for each in PROVIDERS if each.exists())
        with (self.directory / 'node.log').open('ab') as log:
            self.process = subprocess.Popen(
                [
                    *_server(self.data),
                    *_FRUGAL,
                    f'--port={self.port}',
                    '--bind-address=127.0.0.1',
                    f'--socket={self.directory / "socket"}',
                    f'--pid-file={self.directory / "pid"}',
                    '--binlog-format=ROW',
                    '--innodb-autoinc-lock-mode=2',
                    '--wsrep-on=ON',
                    f'--wsrep-provider={provider}',
                    '--wsrep-cluster-name=sandbox',
                    f'--wsrep-cluster-address=gcomm://{peers}',
                    f'--wsrep-node-name={self.name}',
                    '--wsrep-node-address=127.0.0.1',
                    f'--wsrep-provider-options={self._options()}',
                    '--wsrep-slave-threads=4',
                    '--wsrep-sst-method=rsync',
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _options(self) -> str:
        address = f'tcp://127.0.0.1:{self.group_port}'
        return ';'.join(
            [
                f'base_host=127.0.0.1;base_port={self.group_port}',
                f'gmcast.listen_addr={address}',
                f'ist.recv_addr=127.0.0.1:{self.change_port}',
                'gcache.size=32M',
                # A node that lags must not hold up the others.
                'gcs.fc_limit=10000',
            ]
        )

    def wait(self, size: int) -> None:
        """Wait until the node is synced, in a cluster of this size.

        :raises Unexpected: if that takes too long
        """
        deadline = time.monotonic() + PATIENCE
        seen = None
        while time.monotonic() < deadline:
            seen = self._state()
            if seen == ('Synced', str(size)):
                return
            assert self.process is not None
            if self.process.poll() is not None:
                seen = (f'exit {self.process.returncode}', '')
                break
            time.sleep(0.05)
        raise person.Unexpected(
            f'{self.name} as one of {size}, see {self.directory}/node.log',
            seen,
        )

    def _state(self) -> tuple[str, str] | None:
        try:
            with self.session() as cursor:
                cursor.execute(
                    "SHOW STATUS WHERE Variable_name IN ('wsrep_cluster_size',"
                    " 'wsrep_local_state_comment')"
                )
                found = dict(cursor.fetchall())
        except pymysql.MySQLError:
            return None
        return (
            found['wsrep_local_state_comment'],
            found['wsrep_cluster_size'],
        )

    def conflicts(self) -> int:
        with self.session() as cursor:
            cursor.execute(
                "SHOW STATUS WHERE Variable_name IN ('wsrep_local_bf_aborts',"
                " 'wsrep_local_cert_failures')"
            )
            return sum(int(value) for _, value in cursor.fetchall())

    def checksums(self, database: str) -> dict[str, int]:
        """Return the checksum of each table of a database."""
        with self.session() as cursor:
            cursor.execute(f'SHOW TABLES FROM {database}')
            tables = [f'{database}.{table}' for (table,) in cursor.fetchall()]
            cursor.execute(f'CHECKSUM TABLE {", ".join(tables)}')
            return dict(cursor.fetchall())

    @contextlib.contextmanager
    def session(self) -> Iterator[pymysql.cursors.Cursor]:
        with (
            contextlib.closing(
                pymysql.connect(
                    host='127.0.0.1',
                    port=self.port,
                    user='root',
                    autocommit=True,
                    read_timeout=PATIENCE,
                )
            ) as connection,
            connection.cursor() as cursor,
        ):
            yield cursor

    def catch_up(self) -> None:
        """Wait until the node has applied all commits of the cluster."""
        with self.session() as cursor:
            cursor.execute('SET SESSION wsrep_sync_wait = 1')
            cursor.execute('SELECT 1')

    @contextlib.contextmanager
    def lagging(self) -> Iterator[None]:
        """Make the node apply no commits of others; it answers with its old
        state, and does not hold up the others."""
        with self.session() as cursor:
            cursor.execute('SET GLOBAL wsrep_desync = ON')
            try:
                cursor.execute('FLUSH TABLES WITH READ LOCK')
                try:
                    yield
                finally:
                    cursor.execute('UNLOCK TABLES')
            finally:
                cursor.execute('SET GLOBAL wsrep_desync = OFF')

    @contextlib.contextmanager
    def impatient(self) -> Iterator[None]:
        """Make reads that wait for the node to catch up time out soon."""
        with self.session() as cursor:
            option = 'repl.causal_read_timeout'
            _set_option(cursor, f'{option}=PT1S')
            try:
                yield
            finally:
                _set_option(cursor, f'{option}=PT30S')

    @contextlib.contextmanager
    def late(self, seconds: float) -> Iterator[None]:
        """Make the node lag for so long, again and again."""
        over = threading.Event()

        def fall_behind() -> None:
            while not over.is_set():
                with self.lagging():
                    over.wait(seconds)
                over.wait(seconds / 4)

        thread = threading.Thread(target=fall_behind)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.kill()


def _set_option(cursor: pymysql.cursors.Cursor, option: str) -> None:
    cursor.execute('SET GLOBAL wsrep_provider_options = %s', (option,))


class Cluster:
    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes

    def start(self) -> None:
        first, *others = self.nodes
        first.start('')
        first.wait(1)
        for number, node in enumerate(others, start=2):
            # One after the other, so that each joins the whole cluster.
            node.start(self._peers(node))
            node.wait(number)

    def conflicts(self) -> int:
        """Return how many transactions have failed by conflicts between
        nodes."""
        return sum(node.conflicts() for node in self.nodes)

    def is_whole(self) -> bool:
        return all(
            node.process is not None and node.process.poll() is None
            for node in self.nodes
        )

    def _peers(self, node: Node) -> str:
        return ','.join(
            f'127.0.0.1:{each.group_port}'
            for each in self.nodes
            if each is not node
        )

    def stop(self) -> None:
        for node in reversed(self.nodes):
            node.stop()

    @contextlib.contextmanager
    def database(self) -> Iterator[list[str]]:
        """Yield the URLs, one at each node, of a database on all of them."""
        name = f'nova_reservations_{uuid.uuid4().hex}'
        with self.nodes[0].session() as cursor:
            cursor.execute(f'CREATE DATABASE {name}')
        try:
            yield [
                sqlalchemy.make_url(node.url)
                .set(database=name)
                .render_as_string(hide_password=False)
                for node in self.nodes
            ]
        finally:
            with self.nodes[0].session() as cursor:
                cursor.execute(f'DROP DATABASE {name}')


@contextlib.contextmanager
def lent(directory: pathlib.Path, size: int = 3) -> Iterator[Cluster]:
    """Yield a cluster that is up.

    :param directory: with a short path, as sockets have
    """
    ports = iter(_free_ports(3 * size))
    nodes = []
    for number in range(1, size + 1):
        node_directory = directory / f'node{number}'
        node_directory.mkdir()
        nodes.append(
            Node(
                f'node{number}',
                node_directory,
                [next(ports) for _ in range(3)],
            )
        )
    _install([node.data for node in nodes])
    cluster = Cluster(nodes)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def _install(folders: list[pathlib.Path]) -> None:
    """Create the same empty database in all folders.

    No state has to be transferred: each join of a node is one event in the
    history of the cluster, so the saved position of a node is the number of
    nodes that have joined before it.
    """
    first, *others = folders
    install = program('mariadb-install-db')
    assert install is not None
    subprocess.run(
        [
            install,
            '--no-defaults',
            f'--datadir={first}',
            '--auth-root-authentication-method=normal',
            '--skip-test-db',
            *_own_temporary_files(first),
            *_FRUGAL,
            *_user(),
        ],
        capture_output=True,
        check=True,
    )
    for other in others:
        shutil.copytree(first, other)
    history = uuid.uuid4()
    for joined, folder in enumerate(folders):
        (folder / 'grastate.dat').write_text(_AT.format(history, joined))


def _server(data: pathlib.Path) -> list[str]:
    found = program('mariadbd')
    assert found is not None
    return [
        found,
        '--no-defaults',
        f'--datadir={data}',
        *_own_temporary_files(data),
        *_user(),
    ]


def _own_temporary_files(data: pathlib.Path) -> list[str]:
    # A server that starts deletes the temporary files of other servers that
    # use the same folder.
    return [f'--tmpdir={data.parent}']


@functools.cache
def _user() -> list[str]:
    # MariaDB runs as root only if it is told to.
    return ['--user=root'] if os.geteuid() == 0 else []


def _free_ports(number: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        listeners = [
            stack.enter_context(socket.create_server(('127.0.0.1', 0)))
            for _ in range(number)
        ]
        return [listener.getsockname()[1] for listener in listeners]

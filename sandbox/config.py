# SPDX-License-Identifier: Apache-2.0
"""The configuration files of a sandbox, like those of an operator."""

from collections.abc import Mapping
import importlib.metadata
import re

import sqlalchemy.engine

from sandbox import ini
from sandbox import layout as lo

#: Seconds between two checks of what leases hold.
HEALING_INTERVAL = 27

#: Seconds after which a compute that does not report is down.
SERVICE_DOWN_TIME = 30

#: Seconds for which a compute must be down until it counts as failed.
DOWN_AFTER = 5

#: Seconds to wait for an answer of a cell's database.
CELL_TIMEOUT = 10

#: What an operator adds to nova.conf. The list is Nova's own default and ours.
RESERVATIONS_CONF: ini.Sections = {
    'filter_scheduler': {
        'available_filters': (
            'nova.scheduler.filters.all_filters',
            'nova_reservations.scheduler.host_filter.ReservationFilter',
        ),
        'enabled_filters': 'ComputeFilter,ComputeCapabilitiesFilter,'
        'ImagePropertiesFilter,ServerGroupAntiAffinityFilter,'
        'ServerGroupAffinityFilter,ReservationFilter',
    },
    # Those of the server in serve.py, which does not tell them.
    'reservations': {'api_threads': '8'},
}

#: Host -> its compute units; the hosts have different processors.
UNITS = dict(zip(lo.HOSTS, (400, 200, 100, 100), strict=True))

#: What an operator adds to nova.conf to track compute units; and a plugin
#: that fails.
RESOURCES_CONF: ini.Sections = {
    'DEFAULT': {
        'compute_resources': 'cu,vcpu,memory,faulty',
        'scheduler_consumers': 'cu',
        # A story waits for an audit.
        'update_resources_interval': 20,
    },
    'filter_scheduler': {
        'available_filters': (
            'nova.scheduler.filters.all_filters',
            'nova_reservations.scheduler.host_filter.ReservationFilter',
            'nova_reservations.scheduler.resource_filter.ResourceFilter',
        ),
        'enabled_filters': 'ComputeFilter,ComputeCapabilitiesFilter,'
        'ImagePropertiesFilter,ServerGroupAntiAffinityFilter,'
        'ServerGroupAffinityFilter,ReservationFilter,ResourceFilter',
    },
}

#: A package with the plugin that fails, as an operator would install one.
FAULTY = {
    'METADATA': 'Metadata-Version: 2.1\nName: faulty\nVersion: 1\n',
    'entry_points.txt': '[nova.compute.resources]\n'
    'faulty = sandbox.faulty:Faulty\n',
}

#: A package with the driver that binds ports; there are no agents to do so.
BINDING = {
    'METADATA': 'Metadata-Version: 2.1\nName: binding\nVersion: 1\n',
    'entry_points.txt': '[neutron.ml2.mechanism_drivers]\n'
    'sandbox = sandbox.binding:Binding\n',
}

#: What an operator adds to api-paste.ini, beside the word in the pipelines.
RESERVATIONS_PASTE = """
[filter:reservations]
paste.filter_factory = nova_reservations.api.middleware:Reservations.factory
"""


#: What an operator writes who has members ask for hosts by their names, as
#: stories do.
POLICY = """\
reservations:leases:host_names: rule:project_member_or_admin
"""


def write(layout: lo.Layout, extra: ini.Sections | None = None) -> None:
    """Write the files of every service into the layout's etc folder.

    :param extra: options of nova.conf, in addition to those of all sandboxes
        or in place of them
    """
    nova = ini.merged(_nova(layout), RESERVATIONS_CONF)
    if layout.embedded:
        nova = ini.merged(nova, RESOURCES_CONF)
        _install(layout, 'faulty', FAULTY)
    for section, options in (extra or {}).items():
        nova[section] = {**nova.get(section, {}), **options}
    files = {
        'keystone.conf': ini.text(_keystone(layout)),
        'placement.conf': ini.text(_placement(layout)),
        'glance-api.conf': ini.text(_glance(layout)),
        'glance-api-paste.ini': _shipped('glance', 'glance-api-paste.ini'),
        'nova.conf': ini.text(nova),
        'api-paste.ini': with_reservations(_shipped('nova', 'api-paste.ini')),
        'policy.yaml': POLICY,
    }
    if 'neutron' in layout.real:
        files |= _files_of_neutron(layout)
    if 'cinder' in layout.real:
        files |= {
            'cinder.conf': ini.text(_cinder(layout)),
            'cinder-api-paste.ini': _shipped('cinder', 'api-paste.ini'),
            'filters.json': _shipped('cinder', 'resource_filters.json'),
        }
    if 'heat' in layout.real:
        files |= {
            'heat.conf': ini.text(_heat(layout)),
            'heat-api-paste.ini': _shipped('openstack-heat', 'api-paste.ini'),
        }
    for cell in layout.cells:
        of_cell = _of_cell(layout, cell, nova) if layout.has_cells else nova
        files[conf_in(layout, cell)] = ini.text(of_cell)
        files[_conf_of_computes(cell)] = ini.text(_without_databases(of_cell))
    for daemon in layout.controllers + layout.computes:
        _, host = daemon.split('@')
        files[conf_of_host(daemon)] = ini.text({'DEFAULT': {'host': host}})
    for host in layout.hosts:
        # nova-compute looks for it beside its files when it starts again.
        files[f'{host}/compute_id'] = lo.node_uuid(host)
    if layout.embedded:
        # All computes share this folder. They only check that the file exists.
        files['compute_id'] = lo.node_uuid(lo.HOSTS[0])
    for name, text in files.items():
        file = layout.etc / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)


def _install(layout: lo.Layout, name: str, files: Mapping[str, str]) -> None:
    """Install a package in this sandbox only."""
    package = layout.site / f'{name}-1.dist-info'
    package.mkdir(parents=True)
    for file, text in files.items():
        (package / file).write_text(text)


def _files_of_neutron(layout: lo.Layout) -> dict[str, str]:
    _install(layout, 'binding', BINDING)
    return {
        'neutron.conf': ini.text(_neutron(layout)),
        'ml2.ini': ini.text(_ML2),
        'neutron-api-paste.ini': _shipped('neutron', 'api-paste.ini'),
    }


def seen_from_above(layout: lo.Layout, cell: lo.Cell) -> str:
    """Return the URL of a cell's database for programs that query all cells.

    It has a timeout for a cell that hangs. Without it each query of Nova to
    all cells would block, for ever, one of the five threads that a process has
    for such queries. After five queries it could reach no cell any more.
    """
    url = sqlalchemy.engine.make_url(layout.database(cell.database))
    if layout.has_cells and url.drivername == 'mysql+pymysql':
        url = url.update_query_pairs([('read_timeout', str(CELL_TIMEOUT))])
    return url.render_as_string(hide_password=False)


def conf_in(layout: lo.Layout, cell: lo.Cell) -> str:
    """Return the name of the nova.conf of a cell."""
    return f'nova-{cell.name}.conf' if layout.has_cells else 'nova.conf'


def _conf_of_computes(cell: lo.Cell) -> str:
    return f'nova-compute-{cell.name}.conf'


def conf_of(layout: lo.Layout, daemon: str) -> str:
    """Return the name of the configuration file of a program of Nova."""
    command, host = daemon.split('@')
    if command == 'nova-compute':
        return _conf_of_computes(layout.cell_of(host))
    if daemon in lo.CONTROLLERS:
        return 'nova.conf'
    return conf_in(layout, layout.cell_of(host))


def conf_of_host(daemon: str) -> str:
    """Return the name of the configuration file that only this program has."""
    command, host = daemon.split('@')
    return f'{host}/{command}.conf'


def with_reservations(paste: str) -> str:
    """Return Nova's api-paste.ini with our filter in both its pipelines."""
    paste, pipelines = re.subn(
        r'^(keystone = .*\bkeystonecontext)\b',
        r'\1 reservations',
        paste,
        flags=re.MULTILINE,
    )
    if pipelines != 2:
        raise RuntimeError(f'api-paste.ini has {pipelines} pipelines, not 2')
    return paste + RESERVATIONS_PASTE


def _shipped(package: str, name: str) -> str:
    """Return the text of a file that the package installs under etc/."""
    for path in importlib.metadata.files(package) or ():
        if path.match(f'etc/*/{name}'):
            return path.read_text()
    raise FileNotFoundError(f'{package} has no {name} in etc')


def _keystone(layout: lo.Layout) -> ini.Sections:
    keys = f'{layout.directory}/fernet-keys'
    return {
        'database': ini.database(layout, 'keystone'),
        'cache': {'enabled': True, 'backend': 'dogpile.cache.memory'},
        'fernet_tokens': {'key_repository': keys},
        'fernet_receipts': {'key_repository': keys},
        # Four is the least that bcrypt takes: these passwords are no secret.
        'identity': {'password_hash_rounds': 4},
        'token': {'expiration': 86400},
    }


def _placement(layout: lo.Layout) -> ini.Sections:
    return {
        # The default size of the pool. The start of a lease of many hosts
        # sends eight requests at a time, and connecting takes longer than
        # answering.
        'placement_database': ini.database(layout, 'placement', kept=5),
        'keystone_authtoken': ini.authtoken(layout, 'placement'),
    }


def _glance(layout: lo.Layout) -> ini.Sections:
    images = f'{layout.directory}/images'
    return {
        'DEFAULT': {
            'enabled_backends': 'images:file',
            'enabled_import_methods': '[]',
            'worker_self_reference_url': layout.url('glance'),
        },
        'database': ini.database(layout, 'glance'),
        'glance_store': {'default_backend': 'images'},
        'images': {'filesystem_store_datadir': images},
        'os_glance_staging_store': {
            'filesystem_store_datadir': f'{images}/staging'
        },
        'os_glance_tasks_store': {
            'filesystem_store_datadir': f'{images}/tasks'
        },
        'keystone_authtoken': ini.authtoken(layout, 'glance'),
        'oslo_concurrency': {'lock_path': f'{layout.directory}/lock'},
        'paste_deploy': {
            'flavor': 'keystone',
            'config_file': f'{layout.etc}/glance-api-paste.ini',
        },
    }


def _neutron(layout: lo.Layout) -> ini.Sections:
    return {
        'DEFAULT': {
            'core_plugin': 'ml2',
            'service_plugins': 'router,network_segment_range',
            'transport_url': layout.transport_url or 'fake://',
            'state_path': f'{layout.directory}/neutron',
            'api_paste_config': f'{layout.etc}/neutron-api-paste.ini',
            'notify_nova_on_port_status_changes': False,
            'notify_nova_on_port_data_changes': False,
        },
        'database': ini.database(layout, 'neutron'),
        'keystone_authtoken': ini.authtoken(layout, 'neutron'),
        'oslo_concurrency': {'lock_path': f'{layout.directory}/lock'},
    }


def _cinder(layout: lo.Layout) -> ini.Sections:
    return {
        'DEFAULT': {
            'auth_strategy': 'keystone',
            'api_paste_config': f'{layout.etc}/cinder-api-paste.ini',
            'resource_query_filters_file': f'{layout.etc}/filters.json',
            # All of it is one process.
            'transport_url': 'fake://',
            'state_path': f'{layout.directory}/cinder',
            'host': 'storage',
            'enabled_backends': 'files',
            'backup_driver': 'cinder.backup.drivers.posix.PosixBackupDriver',
            'backup_posix_path': f'{layout.directory}/backups',
            # A story does not wait for minutes.
            'report_interval': 2,
            'service_down_time': 10,
            'backend_stats_polling_interval': 3,
            'periodic_fuzzy_delay': 0,
            'scheduler_driver_init_wait_time': 5,
        },
        'files': {
            'volume_driver': 'sandbox.pools.Driver',
            'volume_backend_name': 'files',
        },
        'database': ini.database(layout, 'cinder', kept=5),
        'keystone_authtoken': ini.authtoken(layout, 'cinder'),
        'oslo_concurrency': {'lock_path': f'{layout.directory}/lock'},
    }


def _heat(layout: lo.Layout) -> ini.Sections:
    return {
        'DEFAULT': {
            # All of it is one process.
            'transport_url': 'fake://',
            'host': 'orchestration',
            # Of 32 characters; no secret.
            'auth_encryption_key': 'sandbox-' * 4,
            'region_name_for_services': lo.REGION,
            'environment_dir': f'{layout.etc}/heat',
        },
        'clients_keystone': {'auth_uri': layout.auth_url},
        'database': ini.database(layout, 'heat', kept=5),
        'keystone_authtoken': ini.authtoken(layout, 'heat'),
        'oslo_concurrency': {'lock_path': f'{layout.directory}/lock'},
        'paste_deploy': {
            'api_paste_config': f'{layout.etc}/heat-api-paste.ini'
        },
        # Needed because a stack of a lease outlives the token that created
        # it. Without a project: a trust has its own scope.
        'trustee': {
            name: value
            for name, value in ini.credentials(layout, 'heat').items()
            if not name.startswith('project')
        },
    }


_ML2: ini.Sections = {
    'ml2': {
        'type_drivers': 'flat,local,vlan',
        'tenant_network_types': 'local',
        'mechanism_drivers': 'sandbox',
    },
    'ml2_type_flat': {'flat_networks': '*'},
    # From these Neutron gives VLANs to networks by itself.
    'ml2_type_vlan': {'network_vlan_ranges': 'physnet1:100:199'},
}


def _nova(layout: lo.Layout) -> ini.Sections:
    common: ini.Sections = {
        'DEFAULT': {
            'compute_driver': 'sandbox.Driver',
            'host': 'controller',
            'log_options': False,
            'my_ip': '127.0.0.1',
            'report_interval': 5,
            'service_down_time': SERVICE_DOWN_TIME if layout.embedded else 60,
            'state_path': str(layout.directory),
            'transport_url': layout.transport_url or 'fake://',
        },
        'api_database': ini.database(layout, 'nova_api'),
        # With several cells, the programs above them use cell0.
        'database': ini.database(
            layout, 'nova_cell0' if layout.has_cells else 'nova'
        ),
        'glance': ini.credentials(layout.shown, 'nova'),
        'keystone_authtoken': ini.authtoken(layout.shown, 'nova'),
        'neutron': ini.credentials(layout.shown, 'nova'),
        'oslo_concurrency': {'lock_path': f'{layout.directory}/lock'},
        'oslo_limit': _of_limits(layout),
        'oslo_policy': {'policy_file': f'{layout.etc}/policy.yaml'},
        'placement': ini.credentials(layout.shown, 'nova'),
        'reservations': {
            'resource_types': 'physical:host,virtual:instance,'
            'flavor:instance,virtual:server'
            + ',virtual:floatingip,virtual:network,network'
            * ('neutron' in layout.real)
            + ',virtual:volume,physical:storage' * ('cinder' in layout.real)
            + ',virtual:stack' * ('heat' in layout.real)
        },
        'service_user': ini.credentials(layout.shown, 'nova')
        | {'send_service_user_token': True},
        'vnc': {'enabled': False},
    }
    own = _of_one_process(layout) if layout.embedded else _OF_MANY_PROCESSES
    nova = ini.merged(common, own)
    return ini.merged(nova, _OF_CELLS) if layout.has_cells else nova


def _of_limits(layout: lo.Layout) -> dict[str, ini.Value]:
    """Return the options to read limits from keystone; only some stories use
    unified limits."""
    return {
        'auth_type': 'password',
        'auth_url': layout.auth_url,
        'username': 'nova',
        'password': 'nova',
        'user_domain_name': 'Default',
        'system_scope': 'all',
        # Its id is keystone's to choose.
        'endpoint_service_type': 'compute',
        'endpoint_region_name': lo.REGION,
        'timeout': 5,
    }


def _of_cell(
    layout: lo.Layout, cell: lo.Cell, nova: ini.Sections
) -> ini.Sections:
    """Return the nova.conf of a cell. It has the database and the message bus
    of the cell, and not the API database."""
    own: ini.Sections = {
        'DEFAULT': {'transport_url': cell.transport_url},
        'database': {'connection': layout.database(cell.database)},
        # The conductor of a cell has less to do than the one above all cells.
        'conductor': {'workers': 1},
    }
    return {
        section: options
        for section, options in ini.merged(nova, own).items()
        if section != 'api_database'
    }


def _without_databases(nova: ini.Sections) -> ini.Sections:
    """Return the nova.conf of nova-compute, which has no databases."""
    return {
        section: options
        for section, options in nova.items()
        if 'database' not in section
    }


def _of_one_process(layout: lo.Layout) -> ini.Sections:
    return {
        'reservations': {
            # In a file of its own, so that it does not wait for Nova's locks.
            'connection': f'sqlite:///{layout.directory}/reservations.db',
            # A story does not wait for minutes.
            'polling_interval': 1,
            'unshelve_timeout': 5,
            'down_after': DOWN_AFTER,
            'healing_interval': HEALING_INTERVAL / 60,
            'heal_evacuate': True,
            'best_effort_aggregate': 'drainable',
            'best_effort_timeout': 40,
        },
        # A story reads notifications in the log, and changes what it needs.
        'oslo_messaging_notifications': {
            'driver': ('log', 'nova_reservations')
        },
        'metrics_plugins': {'enabled': 'threshold', 'reload_interval': 1},
    }


_OF_MANY_PROCESSES: ini.Sections = {
    # Queues are deleted when nobody listens any more.
    'oslo_messaging_rabbit': {
        'amqp_auto_delete': True,
        'rabbit_transient_queues_ttl': 60,
    },
    'conductor': {'workers': 2},
    'scheduler': {'workers': 2, 'discover_hosts_in_cells_interval': 2},
}

_OF_CELLS: ini.Sections = {
    # As Nova's guide for cells recommends: connections are given up soon, and
    # quotas are counted without querying cells.
    'database': {'max_retries': 1, 'retry_interval': 1},
    'quota': {'count_usage_from_placement': True},
    # Off: the scheduler would query one cell after the other, and wait for
    # ever for one that hangs. The sandbox runs nova-manage instead.
    'scheduler': {'discover_hosts_in_cells_interval': -1},
}

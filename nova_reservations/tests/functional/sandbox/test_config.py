# SPDX-License-Identifier: Apache-2.0
import configparser

from oslo_config import cfg
import pytest

from sandbox import config
from sandbox import layout as lo


@pytest.fixture
def layout(tmp_path):
    made = lo.Layout(tmp_path, dict.fromkeys(lo.APIS, 1))
    made.save()
    config.write(made)
    return made


def test_both_pipelines_of_nova_have_the_filter_behind_keystonecontext(layout):
    paste = configparser.ConfigParser(strict=False)
    paste.read(layout.etc / 'api-paste.ini')
    for name in (
        'openstack_compute_api_v21',
        'openstack_compute_api_v21_legacy_v2_compatible',
    ):
        pipeline = paste[f'composite:{name}']['keystone'].split()
        behind = pipeline.index('keystonecontext') + 1
        assert pipeline[behind] == 'reservations'
    assert 'filter:reservations' in paste


def test_a_paste_file_without_both_pipelines_is_an_error():
    with pytest.raises(RuntimeError, match='0 pipelines'):
        config.with_reservations('[composite:other]\nkeystone = app\n')


def test_an_option_may_be_given_several_times(layout):
    conf = cfg.ConfigOpts()
    conf.register_opt(
        cfg.MultiStrOpt('available_filters'), group='filter_scheduler'
    )
    conf([], default_config_files=[layout.etc / 'nova.conf'])
    assert len(conf.filter_scheduler.available_filters) > 1


def test_other_processes_have_the_same_layout(layout):
    assert lo.Layout.load(layout.directory) == layout


@pytest.fixture
def layout_of_cells(tmp_path):
    cells = tuple(
        lo.Cell(
            name,
            hosts,
            f'nova_{name}',
            f'mysql+pymysql://{name}',
            f'rabbit://{name}/',
        )
        for name, hosts in lo.hosts_of_cells(2).items()
    )
    made = lo.Layout(
        tmp_path,
        dict.fromkeys(lo.APIS, 1),
        'mysql+pymysql://all',
        'rabbit://all/',
        cells=cells,
    )
    made.save()
    config.write(made)
    return made


def of(layout, daemon):
    """Return the nova.conf that a program reads."""
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.read(layout.etc / config.conf_of(layout, daemon))
    return parser


def test_the_programs_of_a_cell_have_its_database_and_bus_and_no_other(
    layout_of_cells,
):
    conductor = of(layout_of_cells, 'nova-conductor@cell2')
    assert 'api_database' not in conductor
    assert '//cell2/' in conductor['database']['connection']
    assert conductor['DEFAULT']['transport_url'] == 'rabbit://cell2/'
    compute = of(layout_of_cells, 'nova-compute@compute-5')
    assert not {'api_database', 'database'} & {*compute}
    assert compute['DEFAULT']['transport_url'] == 'rabbit://cell2/'


def test_services_above_the_cells_have_the_api_database_and_cell0(
    layout_of_cells,
):
    for daemon in lo.CONTROLLERS:
        above = of(layout_of_cells, daemon)
        assert above['api_database']['connection'].endswith('_nova_api')
        assert above['database']['connection'].endswith('_nova_cell0')
        assert above['DEFAULT']['transport_url'] == 'rabbit://all/'


def test_hosts_are_in_one_cell_each(layout_of_cells):
    assert len({*layout_of_cells.hosts}) == len(layout_of_cells.hosts)
    assert layout_of_cells.cell_of('compute-1').name == 'cell1'
    assert layout_of_cells.cell_of('compute-5').name == 'cell2'


def test_other_processes_have_the_same_cells(layout_of_cells):
    assert lo.Layout.load(layout_of_cells.directory) == layout_of_cells


def test_a_cell_that_hangs_is_given_up_by_those_above_it(layout_of_cells):
    cell = layout_of_cells.cell_of('cell2')
    above = config.seen_from_above(layout_of_cells, cell)
    assert above.endswith(f'?read_timeout={config.CELL_TIMEOUT}')
    assert 'read_timeout' not in layout_of_cells.database(cell.database)


def test_a_single_cell_is_waited_for(layout):
    (cell,) = layout.cells
    above = config.seen_from_above(layout, cell)
    assert above == layout.database(cell.database)


def test_a_cloud_with_a_real_neutron_leases_addresses_and_networks(tmp_path):
    made = lo.Layout(tmp_path, dict.fromkeys(lo.APIS, 1), real=('neutron',))
    made.save()
    config.write(made)
    assert lo.Layout.load(tmp_path) == made
    assert 'neutron' in made.databases
    assert 'core_plugin = ml2' in (made.etc / 'neutron.conf').read_text()
    types = [
        line
        for line in (made.etc / 'nova.conf').read_text().splitlines()
        if line.startswith('resource_types')
    ]
    assert types[0].endswith(',virtual:floatingip,virtual:network,network')


def test_a_cinder_listens_only_where_it_is_asked_for(tmp_path):
    ports = dict.fromkeys(lo.apis(['cinder']), 1)
    made = lo.Layout(tmp_path, ports, real=('cinder',))
    made.save()
    config.write(made)
    assert 'cinder' in made.databases
    assert 'sandbox.pools' in (made.etc / 'cinder.conf').read_text()
    assert 'volumev3' in made.catalog()
    assert 'volume' not in lo.apis(['neutron'])
    plain = lo.Layout(tmp_path, dict.fromkeys(lo.apis([]), 1))
    assert 'volumev3' not in plain.catalog()


def test_a_heat_is_told_where_its_project_is_in_the_url(tmp_path):
    ports = dict.fromkeys(lo.apis(['heat']), 1)
    made = lo.Layout(tmp_path, ports, real=('heat',))
    made.save()
    config.write(made)
    assert 'heat' in made.databases
    assert '[trustee]' in (made.etc / 'heat.conf').read_text()
    assert made.catalog()['orchestration'].endswith('/v1/$(project_id)s')
    assert 'orchestration' not in lo.apis(['neutron', 'cinder'])

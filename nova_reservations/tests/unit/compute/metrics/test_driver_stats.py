# SPDX-License-Identifier: Apache-2.0
from nova.objects import diagnostics
from nova.virt import fake

from nova_reservations.compute.metrics import driver_stats

KIB = 1024
MIB = 1024 * 1024


def driver():
    return fake.FakeDriver.__new__(fake.FakeDriver)


def test_both_forms_of_novas_fake_driver_say_the_same():
    """They differ only in names of devices, and in the memory."""
    of_dict = driver_stats.from_dict(driver().get_diagnostics(None))
    of_object = driver_stats.from_object(
        driver().get_instance_diagnostics(None)
    )
    assert of_dict == driver_stats.Reading(
        cpus={'0': {'time': 17_300_000_000}},
        disks={
            'vda': {
                'read_bytes': 262144,
                'read_requests': 112,
                'write_bytes': 5778432,
                'write_requests': 488,
            }
        },
        nics={
            'vnet1': {
                'in_bytes': 2070139,
                'in_packets': 26701,
                'out_bytes': 140208,
                'out_packets': 662,
            }
        },
        ram={'total': 524288 * KIB},
    )
    assert of_object.cpus == of_dict.cpus
    assert [*of_object.disks.values()] == [*of_dict.disks.values()]
    assert [*of_object.nics.values()] == [*of_dict.nics.values()]
    assert of_object.ram == {'total': 524288 * MIB}


def test_the_balloon_of_libvirt_is_read():
    found = driver_stats.from_dict(
        {
            'memory': 4096 * KIB,
            'memory-actual': 2048 * KIB,
            'memory-available': 2000 * KIB,
            'memory-unused': 500 * KIB,
            'memory-rss': 900 * KIB,
            'memory-last_update': 1700000000,
        }
    )
    assert found == driver_stats.Reading(
        ram={
            'total': 4096 * MIB,
            'balloon': 2048 * MIB,
            'used': 1500 * MIB,
            'resident': 900 * MIB,
        }
    )


def test_interfaces_and_disks_may_have_any_name():
    found = driver_stats.from_dict(
        {
            'tap_read_rx': 1,
            'tap_read_rx_packets': 2,
            'sd_a_read': 3,
            'sd_a_write_req': 4,
            'cpu0_time': 5,
            'cpu12_time': 6,
        }
    )
    assert found.nics == {'tap_read': {'in_bytes': 1, 'in_packets': 2}}
    assert found.disks == {'sd_a': {'read_bytes': 3, 'write_requests': 4}}
    assert found.cpus == {'0': {'time': 5}, '12': {'time': 6}}


def test_counters_that_libvirt_does_not_know_are_not_known():
    found = driver_stats.from_dict(
        {'vda_read': -1, 'vda_write': 7, 'memory': None, 'vnet0_rx': -1}
    )
    assert found == driver_stats.Reading(disks={'vda': {'write_bytes': 7}})


def test_a_driver_whose_words_are_its_own_tells_nothing():
    found = driver_stats.from_dict(
        {'vmware:memorySizeMB': 512, 'vmware:toolsRunningStatus': 'x'}
    )
    assert found.empty


def test_an_object_that_lacks_things_tells_of_the_others():
    given = diagnostics.Diagnostics(
        state='running', driver='libvirt', config_drive=False
    )
    given.add_nic(mac_address='fa:16:3e:00:00:01')
    given.add_cpu(id=0, time=None)
    given.add_disk(read_bytes=5, read_requests=-1)
    given.memory_details = diagnostics.MemoryDiagnostics(maximum=512, used=0)
    assert driver_stats.from_object(given) == driver_stats.Reading(
        disks={'0': {'read_bytes': 5}}, ram={'total': 512 * MIB}
    )

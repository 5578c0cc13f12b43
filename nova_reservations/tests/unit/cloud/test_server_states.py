# SPDX-License-Identifier: Apache-2.0
"""The states of servers in the port are states of Nova."""

from nova.compute import vm_states

from nova_reservations import ports


def test_a_state_of_a_server_is_one_that_nova_knows():
    assert {str(state) for state in ports.ServerState} <= {
        value
        for name, value in vars(vm_states).items()
        if name.isupper() and isinstance(value, str)
    }

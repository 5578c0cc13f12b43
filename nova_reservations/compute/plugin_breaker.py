# SPDX-License-Identifier: Apache-2.0
"""Circuit breakers of the plugins of nova-compute."""

from nova_reservations.tracking import breaker

LIMIT = 3
"""Failures without a good round between them, after which a plugin is off."""


def of(name: str) -> breaker.CircuitBreaker:
    """Return the circuit breaker of the plugin of this name."""
    return breaker.CircuitBreaker(
        f'Plugin {name}', LIMIT, 'nova-compute reads its configuration again'
    )

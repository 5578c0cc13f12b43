# SPDX-License-Identifier: Apache-2.0
"""Hosts of aggregates, written to Nova's tables in one transaction.

Bypasses Nova's objects, because ``Aggregate`` takes one host at a time, and
reads all that are in it before each: the cost of a lease would grow with the
square of its hosts.
"""

from collections.abc import Collection

from nova import context as nova_context
from nova.db.api import api as api_db
from nova.db.api import models
from oslo_db import api as oslo_db_api
from oslo_db import exception as db_exc
import sqlalchemy as sa

from nova_reservations import exception


@oslo_db_api.wrap_db_retry(
    max_retries=5,
    retry_interval=0,
    retry_on_deadlock=True,
    # Another worker has added one of them at the same moment.
    exception_checker=lambda error: isinstance(error, db_exc.DBDuplicateEntry),
)
def add(aggregate_id: int, hosts: Collection[str]) -> None:
    """Add the hosts that are not in the aggregate.

    :raises: CloudRefused if Nova knows one of them in no cell
    """
    member, mapping = models.AggregateHost, models.HostMapping
    context = nova_context.get_admin_context()
    with api_db.context_manager.writer.using(context):
        session = context.session
        # Compared here: some databases do so without regard to case.
        known = session.scalars(
            sa.select(mapping.host).where(mapping.host.in_(hosts))
        )
        unknown = set(hosts).difference(known)
        if unknown:
            raise exception.CloudRefused(
                what=f'Host {", ".join(sorted(unknown))}',
                reason='Nova has no such compute host',
            )
        present = session.scalars(
            sa.select(member.host).where(
                member.aggregate_id == aggregate_id, member.host.in_(hosts)
            )
        )
        missing = sorted(set(hosts).difference(present))
        if missing:
            session.execute(
                sa.insert(member),
                [
                    {'aggregate_id': aggregate_id, 'host': host}
                    for host in missing
                ],
            )


@oslo_db_api.wrap_db_retry(
    max_retries=5, retry_interval=0, retry_on_deadlock=True
)
def remove(aggregate_id: int, hosts: Collection[str]) -> None:
    """Take out those of the hosts that are in the aggregate."""
    member = models.AggregateHost
    context = nova_context.get_admin_context()
    with api_db.context_manager.writer.using(context):
        context.session.execute(
            sa.delete(member)
            .where(member.aggregate_id == aggregate_id, member.host.in_(hosts))
            .execution_options(synchronize_session=False)
        )

# SPDX-License-Identifier: Apache-2.0
"""Every hook into Nova, and the check of it when a process starts.

What is here is wrapped, extended or called, and is no interface that Nova
promises to keep: a release that changed it must stop us with one clear line,
not surprise a server.
"""

from collections.abc import Callable
from collections.abc import Iterator
import dataclasses
import functools
import importlib
from importlib import metadata
import inspect
import re
from typing import Any

from nova_reservations import exception

SUPPORTED = range(32, 35)
"""The major releases of Nova that have been looked at."""

API = frozenset({'api'})
SCHEDULER = frozenset({'scheduler'})
COMPUTE = frozenset({'compute'})
CONDUCTOR = frozenset({'conductor'})
BOTH = API | SCHEDULER
CLAIMING = SCHEDULER | CONDUCTOR


@dataclasses.dataclass(frozen=True, slots=True)
class Hook:
    """:ivar expected: the names of its parameters, or its type.

    :ivar purpose: what we do with it.
    """

    processes: frozenset[str]
    module: str
    attribute: str
    expected: tuple[str, ...] | type
    purpose: str

    def misfit(self) -> str | None:
        """Return what is not as expected; imports the module."""
        try:
            found: Any = functools.reduce(
                getattr,
                self.attribute.split('.'),
                importlib.import_module(self.module),
            )
        except (ImportError, AttributeError):
            return self._said('is missing')
        if isinstance(self.expected, type):
            if isinstance(found, self.expected):
                return None
            return self._said(
                f'is a {type(found).__name__}, not a {self.expected.__name__}'
            )
        if not callable(found):
            return self._said('can not be called')
        names = tuple(inspect.signature(found).parameters)
        if names == self.expected:
            return None
        return self._said(
            f'takes ({", ".join(names)}), not ({", ".join(self.expected)})'
        )

    def _said(self, what: str) -> str:
        return f'{self.module}:{self.attribute} {what} ({self.purpose})'


HOOKS = (
    # nova-api
    Hook(
        API,
        'nova.api.wsgi',
        'Middleware.factory',
        ('global_config', 'local_config'),
        'the paste filter',
    ),
    Hook(
        API,
        'nova.api.openstack.wsgi',
        'Fault.__init__',
        ('self', 'exception'),
        'refusals in the words of Nova',
    ),
    Hook(API, 'nova.policies', 'list_rules', (), 'our policy rules'),
    Hook(
        API,
        'nova.context',
        'RequestContext.can',
        ('self', 'action', 'target', 'fatal'),
        'our policy rules',
    ),
    Hook(
        API,
        'nova.objects.request_spec',
        'RequestSpec.get_by_instance_uuid',
        ('context', 'instance_uuid'),
        'which lease a server is in',
    ),
    Hook(
        API,
        'nova.compute.api',
        'API._create_reqspec_buildreq_instmapping',
        ('context', 'rs', 'br', 'im'),
        'servers with a lease are known before they are made',
    ),
    # nova-scheduler
    Hook(
        SCHEDULER,
        'nova.scheduler.request_filter',
        'ALL_REQUEST_FILTERS',
        list,
        'the request filter',
    ),
    Hook(
        SCHEDULER,
        'nova.scheduler.request_filter',
        'process_reqspec',
        ('ctxt', 'request_spec'),
        'the request filter',
    ),
    Hook(
        SCHEDULER,
        'nova.scheduler.filters',
        'BaseHostFilter.host_passes',
        ('self', 'host_state', 'filter_properties'),
        'the host filter',
    ),
    Hook(
        SCHEDULER,
        'nova.scheduler.manager',
        'SchedulerManager.select_destinations',
        # What oslo.messaging makes of it; the names are those of the call.
        ('args', 'kwargs'),
        'open reservations',
    ),
    Hook(
        SCHEDULER,
        'nova.scheduler.rpcapi',
        'SchedulerAPI.select_destinations',
        (
            'self',
            'ctxt',
            'spec_obj',
            'instance_uuids',
            'return_objects',
            'return_alternates',
        ),
        'open reservations',
    ),
    Hook(
        CLAIMING,
        'nova.scheduler.utils',
        'claim_resources',
        (
            'ctx',
            'client',
            'spec_obj',
            'instance_uuid',
            'alloc_req',
            'allocation_request_version',
        ),
        'the last look',
    ),
    Hook(
        CONDUCTOR,
        'nova.scheduler.utils',
        'claim_resources_on_destination',
        (
            'context',
            'reportclient',
            'instance',
            'source_node',
            'dest_node',
            'source_allocations',
            'consumer_generation',
        ),
        'moves by force',
    ),
    Hook(
        SCHEDULER,
        'nova.scheduler.utils',
        'ResourceRequest.from_request_spec',
        ('request_spec', 'enable_pinning_translate'),
        'flavors with numbered groups',
    ),
    Hook(
        SCHEDULER,
        'nova.scheduler.utils',
        'ResourceRequest.get_request_group',
        ('self', 'ident'),
        'flavors with numbered groups',
    ),
    Hook(
        SCHEDULER,
        'nova.objects.request_spec',
        'Destination.require_aggregates',
        ('self', 'aggregates'),
        "a reservation's aggregate",
    ),
    Hook(
        SCHEDULER,
        'nova.objects.request_spec',
        'RequestSpec.root_forbidden',
        property,
        "the pool's trait",
    ),
    Hook(
        BOTH | CONDUCTOR,
        'nova.objects.request_spec',
        'RequestSpec.get_scheduler_hint',
        ('self', 'hint_name', 'default'),
        'the hint',
    ),
    Hook(
        SCHEDULER,
        'nova.scheduler.manager',
        'SchedulerManager.pre_start_hook',
        ('self', 'service_ref'),
        'workers have connections of their own',
    ),
    Hook(
        SCHEDULER,
        'nova.scheduler.client.report',
        'PLACEMENTCLIENT',
        object,
        'workers have connections of their own',
    ),
    Hook(
        SCHEDULER,
        'nova.scheduler.manager',
        'SchedulerManager.post_start_hook',
        ('self',),
        'the loop starts',
    ),
    Hook(
        BOTH,
        'nova.objects.aggregate',
        '_aggregate_create_in_db',
        ('context', 'values', 'metadata'),
        'starts do not wait for the message bus',
    ),
    Hook(
        SCHEDULER,
        'nova.service',
        'Service.stop',
        ('self',),
        'the loop stops',
    ),
    Hook(
        SCHEDULER,
        'nova.scheduler.manager',
        'SchedulerManager._add_periodic_task',
        ('task',),
        "the loop's watchdog",
    ),
    Hook(
        SCHEDULER,
        'nova.scheduler.manager',
        'SchedulerManager._periodic_tasks',
        list,
        "the loop's watchdog",
    ),
    Hook(
        SCHEDULER,
        'nova.scheduler.host_manager',
        'HostManager._choose_host_filters',
        ('self', 'filter_cls_names'),
        'consumers are loaded',
    ),
    Hook(
        SCHEDULER,
        'nova.scheduler.host_manager',
        'HostState._update_from_compute_node',
        ('self', 'compute'),
        'consumers read',
    ),
    Hook(
        SCHEDULER,
        'nova.scheduler.host_manager',
        'HostState._locked_consume_from_request',
        ('self', 'spec_obj'),
        'consumers consume',
    ),
    Hook(
        SCHEDULER,
        'nova.scheduler.manager',
        'SchedulerManager._get_all_host_states',
        ('self', 'context', 'spec_obj', 'provider_summaries'),
        'consumers look at all hosts of a run',
    ),
    Hook(
        SCHEDULER,
        'nova.scheduler.weights',
        'BaseHostWeigher.weigh_objects',
        ('self', 'weighed_obj_list', 'weight_properties'),
        'the weighers',
    ),
    Hook(
        SCHEDULER,
        'nova.scheduler.utils',
        'get_weight_multiplier',
        ('host_state', 'multiplier_name', 'multiplier_config'),
        'the weighers',
    ),
    Hook(
        CLAIMING,
        'nova.scheduler.utils',
        'request_is_rebuild',
        ('spec_obj',),
        'requests that claim nothing',
    ),
    # nova-compute
    Hook(
        COMPUTE,
        'nova.compute.manager',
        'ComputeManager.pre_start_hook',
        ('self', 'service_ref'),
        'plugins start',
    ),
    Hook(
        COMPUTE,
        'nova.compute.manager',
        'ComputeManager.check_can_live_migrate_destination',
        (
            'self',
            'ctxt',
            'instance',
            'block_migration',
            'disk_over_commit',
            'migration',
            'limits',
        ),
        'resource plugins refuse a live migration',
    ),
    Hook(
        COMPUTE,
        'nova.compute.manager',
        'ComputeManager._get_nodename',
        ('self', 'instance', 'refresh'),
        'resource plugins refuse a live migration',
    ),
    Hook(
        COMPUTE,
        'nova.compute.resource_tracker',
        'COMPUTE_RESOURCE_SEMAPHORE',
        str,
        'one change of the books at a time',
    ),
    Hook(
        COMPUTE,
        'nova.utils',
        'synchronized',
        # Nova's fixtures stand in its place.
        object,
        'one change of the books at a time',
    ),
    Hook(
        COMPUTE,
        'nova.compute.resource_tracker',
        'ResourceTracker.__init__',
        ('self', 'host', 'driver', 'reportclient'),
        'the books of resource plugins',
    ),
    Hook(
        COMPUTE,
        'nova.compute.resource_tracker',
        'ResourceTracker._init_compute_node',
        ('self', 'context', 'resources'),
        'what the hypervisor reports',
    ),
    Hook(
        COMPUTE,
        'nova.compute.resource_tracker',
        'ResourceTracker._update_available_resource',
        ('self', 'context', 'resources', 'startup'),
        'after an audit',
    ),
    Hook(
        COMPUTE,
        'nova.compute.resource_tracker',
        'ResourceTracker._update_usage_from_instances',
        ('self', 'context', 'instances', 'nodename'),
        'the books begin anew',
    ),
    Hook(
        COMPUTE,
        'nova.compute.resource_tracker',
        'ResourceTracker._get_usage_dict',
        ('self', 'object_or_dict', 'instance', 'updates'),
        'whose usage it is',
    ),
    Hook(
        COMPUTE,
        'nova.compute.resource_tracker',
        'ResourceTracker._update_usage',
        ('self', 'usage', 'nodename', 'sign'),
        'servers come and go',
    ),
    Hook(
        COMPUTE,
        'nova.compute.resource_tracker',
        'ResourceTracker._update',
        ('self', 'context', 'compute_node', 'startup'),
        'reports of plugins',
    ),
    Hook(
        COMPUTE,
        'nova.compute.resource_tracker',
        'ResourceTracker.remove_node',
        ('self', 'nodename'),
        'nodes that leave',
    ),
    Hook(
        COMPUTE,
        'nova.compute.claims',
        'Claim._claim_test',
        ('self', 'compute_node', 'limits'),
        'resource plugins refuse a claim',
    ),
    Hook(
        COMPUTE,
        'nova.compute.claims',
        'MoveClaim._claim_test',
        ('self', 'compute_node', 'limits'),
        'resource plugins refuse a claim',
    ),
    Hook(
        COMPUTE,
        'nova.virt.driver',
        'ComputeDriver.update_provider_tree',
        ('self', 'provider_tree', 'nodename', 'allocations'),
        'inventories of plugins',
    ),
    Hook(
        COMPUTE,
        'nova.compute.manager',
        'ComputeManager.cleanup_host',
        ('self',),
        'metric plugins stop',
    ),
    Hook(
        COMPUTE,
        'nova.compute.manager',
        'ComputeManager._update_volume_usage_cache',
        ('self', 'context', 'vol_usages'),
        'volumes that are measured',
    ),
    Hook(
        COMPUTE,
        'nova.compute.resource_tracker',
        'ResourceTracker._update_usage_from_instance',
        ('self', 'context', 'instance', 'nodename', 'is_removed'),
        'servers that are measured',
    ),
    Hook(
        COMPUTE,
        'nova.objects.instance',
        'InstanceList.get_by_host_and_node',
        ('context', 'host', 'node', 'expected_attrs'),
        'metadata of servers that are measured',
    ),
    Hook(
        COMPUTE,
        'nova.virt.driver',
        'ComputeDriver.get_diagnostics',
        ('self', 'instance'),
        'what servers use',
    ),
    Hook(
        COMPUTE,
        'nova.virt.driver',
        'ComputeDriver.get_instance_diagnostics',
        ('self', 'instance'),
        'what servers use',
    ),
    Hook(
        COMPUTE,
        'nova.virt.driver',
        'ComputeDriver.get_host_cpu_stats',
        ('self',),
        'what the host uses',
    ),
    # cloud/, in whatever process
    Hook(
        BOTH,
        'nova.context',
        'get_admin_context',
        ('read_deleted',),
        'every call of Nova',
    ),
    Hook(
        BOTH,
        'nova.context',
        'scatter_gather_cells',
        ('context', 'cell_mappings', 'timeout', 'fn', 'args', 'kwargs'),
        'hosts and servers of all cells',
    ),
    Hook(
        BOTH,
        'nova.context',
        'is_cell_failure_sentinel',
        ('record',),
        'cells that do not answer',
    ),
    Hook(
        BOTH | CONDUCTOR,
        'nova.scheduler.client.report',
        'report_client_singleton',
        (),
        'placement',
    ),
    Hook(
        BOTH | CONDUCTOR,
        'nova.scheduler.client.report',
        'SchedulerReportClient.get',
        ('self', 'url', 'version', 'global_request_id'),
        'placement',
    ),
    Hook(
        BOTH | CONDUCTOR,
        'nova.scheduler.client.report',
        'SchedulerReportClient.put',
        ('self', 'url', 'data', 'version', 'global_request_id'),
        'placement',
    ),
    Hook(
        BOTH,
        'nova.db.api.api',
        'context_manager.writer',
        object,
        'the hosts of aggregates',
    ),
    Hook(
        BOTH,
        'nova.scheduler.client.report',
        'SchedulerReportClient.post',
        ('self', 'url', 'data', 'version', 'global_request_id'),
        'slots in placement',
    ),
    Hook(
        BOTH,
        'nova.scheduler.client.report',
        'SchedulerReportClient.delete',
        ('self', 'url', 'version', 'global_request_id'),
        'slots in placement',
    ),
    Hook(
        BOTH,
        'nova.scheduler.utils',
        'ResourceRequest.merged_resources',
        ('self',),
        'what flavors ask for',
    ),
    Hook(
        BOTH,
        'nova.scheduler.utils',
        'ResourceRequest.XS_KEYPAT',
        re.Pattern,
        'what flavors ask for',
    ),
    Hook(
        SCHEDULER,
        'nova.scheduler.utils',
        'ResourceRequest.XS_RES_PREFIX',
        str,
        'what flavors ask for',
    ),
    Hook(
        BOTH,
        'nova.objects.flavor',
        'Flavor.get_by_flavor_id',
        ('context', 'flavor_id', 'read_deleted'),
        'flavors of reservations',
    ),
    Hook(
        BOTH,
        'nova.objects.flavor',
        'Flavor.add_access',
        ('self', 'project_id'),
        'flavors of reservations',
    ),
    Hook(
        BOTH,
        'nova.objects.instance_group',
        'InstanceGroup.get_by_uuid',
        ('context', 'uuid'),
        'server groups of reservations',
    ),
    Hook(
        BOTH,
        'nova.db.api.models',
        'AggregateHost.aggregate_id',
        object,
        'the hosts of aggregates',
    ),
    Hook(
        BOTH,
        'nova.db.api.models',
        'AggregateHost.host',
        object,
        'the hosts of aggregates',
    ),
    Hook(
        BOTH,
        'nova.db.api.models',
        'HostMapping.host',
        object,
        'the hosts of aggregates',
    ),
    Hook(
        BOTH,
        'nova.objects.host_mapping',
        'HostMappingList.get_all',
        ('context',),
        'which hosts may fail together',
    ),
    Hook(
        BOTH,
        'nova.db.api.models',
        'BuildRequest.instance_uuid',
        object,
        'builds in flight',
    ),
    Hook(
        BOTH,
        'nova.db.api.models',
        'InstanceMapping.cell_id',
        object,
        'builds in flight',
    ),
    Hook(
        BOTH,
        'nova.objects.host_mapping',
        'HostMapping.get_by_host',
        ('context', 'host'),
        'builds in flight',
    ),
    Hook(
        BOTH,
        'nova.db.main.api',
        'get_context_manager',
        ('context',),
        'stored flavors',
    ),
    Hook(
        BOTH,
        'nova.db.main.models',
        'InstanceExtra.flavor',
        object,
        'stored flavors',
    ),
    Hook(
        BOTH,
        'nova.db.api.models',
        'RequestSpec.spec',
        object,
        'stored flavors',
    ),
    Hook(
        BOTH,
        'nova.objects.aggregate',
        'AggregateList.get_by_metadata_key',
        ('context', 'key', 'hosts'),
        'aggregates and availability zones',
    ),
    Hook(
        BOTH,
        'nova.scheduler.rpcapi',
        'SchedulerAPI.update_aggregates',
        ('self', 'ctxt', 'aggregates'),
        'aggregates',
    ),
    Hook(
        BOTH,
        'nova.scheduler.rpcapi',
        'SchedulerAPI.delete_aggregate',
        ('self', 'ctxt', 'aggregate'),
        'aggregates',
    ),
    Hook(
        BOTH,
        'nova.objects.compute_node',
        'ComputeNodeList.get_all_by_uuids',
        ('context', 'compute_uuids'),
        'hosts',
    ),
    Hook(
        BOTH,
        'nova.objects.instance_mapping',
        'InstanceMappingList.get_by_instance_uuids',
        ('context', 'uuids'),
        'servers',
    ),
    Hook(
        BOTH,
        'nova.compute.api',
        'API.get',
        (
            'self',
            'context',
            'instance_id',
            'expected_attrs',
            'cell_down_support',
        ),
        'the end of servers',
    ),
    Hook(
        BOTH,
        'nova.compute.api',
        'API.delete',
        ('self', 'context', 'instance'),
        'the end of servers',
    ),
    Hook(
        BOTH,
        'nova.compute.api',
        'API.stop',
        ('self', 'context', 'instance', 'do_cast', 'clean_shutdown'),
        'the end of servers',
    ),
    Hook(
        BOTH,
        'nova.compute.api',
        'API.shelve',
        ('self', 'context', 'instance', 'clean_shutdown'),
        'the end of servers',
    ),
    Hook(
        BOTH,
        'nova.compute.api',
        'API.live_migrate',
        (
            'self',
            'context',
            'instance',
            'block_migration',
            'disk_over_commit',
            'host_name',
            'force',
            'async_',
        ),
        'moves past the scheduler; the end of servers',
    ),
    Hook(
        BOTH,
        'nova.compute.api',
        'API.evacuate',
        (
            'self',
            'context',
            'instance',
            'host',
            'on_shared_storage',
            'admin_password',
            'force',
            'target_state',
        ),
        'moves past the scheduler; servers on hosts that have failed',
    ),
    Hook(
        BOTH,
        'nova.compute.api',
        'API.resize',
        (
            'self',
            'context',
            'instance',
            'flavor_id',
            'clean_shutdown',
            'host_name',
            'auto_disk_config',
        ),
        'flavors of others; the end of servers',
    ),
    Hook(
        BOTH,
        'nova.compute.api',
        'API.snapshot',
        ('self', 'context', 'instance', 'name', 'extra_properties'),
        'snapshots',
    ),
    Hook(
        BOTH,
        'nova.image.glance',
        'API.create',
        ('self', 'context', 'image_info', 'data'),
        'snapshots',
    ),
    Hook(
        BOTH,
        'nova.image.glance',
        'API.update',
        ('self', 'context', 'id_or_uri', 'image_info', 'data', 'purge_props'),
        'snapshots',
    ),
    Hook(
        BOTH,
        'nova.image.glance',
        'API.get_all',
        ('self', 'context', 'kwargs'),
        'snapshots',
    ),
    Hook(
        BOTH,
        'nova.compute.api',
        'API.shelve_offload',
        ('self', 'context', 'instance', 'clean_shutdown'),
        'the end of servers',
    ),
    Hook(
        BOTH,
        'nova.compute.api',
        'API.confirm_resize',
        ('self', 'context', 'instance', 'migration'),
        'the end of servers',
    ),
    Hook(
        BOTH,
        'nova.objects.instance_action',
        'InstanceAction.get_by_request_id',
        ('context', 'instance_uuid', 'request_id'),
        'what was begun with servers',
    ),
    Hook(
        BOTH,
        'nova.objects.instance_action',
        'InstanceActionList.get_by_instance_uuid',
        ('context', 'instance_uuid', 'limit', 'marker', 'filters'),
        'what was begun with servers',
    ),
    Hook(BOTH, 'nova.rpc', 'init', ('conf',), 'notifications'),
)


def arguments(
    wrapped: Callable[..., Any], args: Any, kwargs: Any
) -> dict[str, Any]:
    """Return name -> argument of a call, defaults as well, by the signature
    of what is called: Nova may pass them by position or by name."""
    bound = inspect.signature(wrapped).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.arguments


@functools.cache
def check(process: str) -> None:
    """Stop unless this Nova is one that we can hook into.

    :param process: 'api', 'scheduler', 'compute' or 'conductor', whose hooks
        are looked at
    :raises: UnsupportedNova, naming all that does not fit
    """
    found = list(misfits(process))
    if found:
        raise exception.UnsupportedNova(
            f'nova_reservations can not hook into Nova '
            f'{metadata.version("nova")}: {"; ".join(found)}'
        )


def misfits(process: str) -> Iterator[str]:
    """Yield what of this Nova is not as a process of ours needs it."""
    major = int(metadata.version('nova').split('.')[0])
    if major not in SUPPORTED:
        yield f'supported are {SUPPORTED[0]} to {SUPPORTED[-1]}'
    for hook in HOOKS:
        if process in hook.processes and (misfit := hook.misfit()):
            yield misfit

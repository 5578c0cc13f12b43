# SPDX-License-Identifier: Apache-2.0
"""The table of all that we use of Nova; ``hooks`` reads and checks it."""

TABLE = """
nova-api, nova-scheduler, nova-conductor
  the hint
    nova.objects.request_spec:RequestSpec.get_scheduler_hint
        (self, hint_name, default)
  placement
    nova.scheduler.client.report:SchedulerReportClient.get
        (self, url, version, global_request_id)
    nova.scheduler.client.report:SchedulerReportClient.put
        (self, url, data, version, global_request_id)
    nova.scheduler.client.report:report_client_singleton()

nova-api, nova-scheduler
  starts do not wait for the message bus
    nova.objects.aggregate:_aggregate_create_in_db(context, values, metadata)
    nova.objects.aggregate:_metadata_add_to_db
        (context, aggregate_id, metadata, max_retries, set_delete)
  every call of Nova
    nova.conf:CONF is object
    nova.context:RequestContext is type
    nova.context:get_admin_context(read_deleted)
    nova.context:target_cell(context, cell_mapping)
  hosts and servers of cells
    nova.db.api.models:HostMapping.cell_id is object
    nova.db.api.models:HostMapping.host is object
    nova.db.api.models:InstanceMapping.cell_id is object
    nova.db.api.models:InstanceMapping.instance_uuid is object
    nova.db.api.models:InstanceMapping.project_id is object
    nova.db.main.api:get_context_manager(context)
    nova.objects.cell_mapping:CellMapping is type
    nova.objects.cell_mapping:CellMapping.is_cell0(self)
    nova.objects.cell_mapping:CellMappingList.get_all(context)
  the hosts of aggregates
    nova.db.api.api:context_manager.reader is object
    nova.db.api.api:context_manager.writer is object
    nova.db.api.models:AggregateHost.aggregate_id is object
    nova.db.api.models:AggregateHost.host is object
  slots in placement
    nova.scheduler.client.report:SchedulerReportClient.delete
        (self, url, version, global_request_id)
    nova.scheduler.client.report:SchedulerReportClient.post
        (self, url, data, version, global_request_id)
  what flavors ask for
    nova.objects.request_spec:RequestSpec.\
generate_request_groups_from_pci_requests(self)
    nova.pci.request:get_pci_requests_from_flavor(flavor, affinity_policy)
    nova.scheduler.utils:ResourceRequest.XS_KEYPAT is Pattern
    nova.scheduler.utils:ResourceRequest.merged_resources(self)
    nova.scheduler.utils:ResourceRequest.to_querystring(self)
  flavors of reservations
    nova.objects.flavor:Flavor.add_access(self, project_id)
    nova.objects.flavor:Flavor.create(self)
    nova.objects.flavor:Flavor.destroy(self)
    nova.objects.flavor:Flavor.get_by_flavor_id
        (context, flavor_id, read_deleted)
    nova.objects.flavor:Flavor.get_by_name(context, name)
    nova.objects.flavor:Flavor.remove_access(self, project_id)
    nova.objects.flavor:Flavor.save_extra_specs(self, to_add, to_delete)
    nova.objects.request_spec:RequestGroup is type
  server groups of reservations
    nova.objects.instance_group:InstanceGroup.add_members
        (context, group_uuid, instance_uuids)
    nova.objects.instance_group:InstanceGroup.create(self)
    nova.objects.instance_group:InstanceGroup.destroy(self)
    nova.objects.instance_group:InstanceGroup.get_by_uuid(context, uuid)
  builds in flight
    nova.db.api.models:BuildRequest.instance_uuid is object
    nova.db.api.models:BuildRequest.project_id is object
  stored flavors
    nova.db.api.models:RequestSpec.instance_uuid is object
    nova.db.api.models:RequestSpec.spec is object
    nova.db.main.models:InstanceExtra.deleted is object
    nova.db.main.models:InstanceExtra.flavor is object
    nova.db.main.models:InstanceExtra.instance_uuid is object
    nova.objects.instance:Instance.save
        (self, expected_vm_state, expected_task_state, admin_state_reset)
  aggregates and availability zones
    nova.objects.aggregate:AggregateList.get_by_metadata_key
        (context, key, hosts)
  aggregates
    nova.objects.aggregate:Aggregate.create(self)
    nova.objects.aggregate:Aggregate.destroy(self)
    nova.objects.aggregate:Aggregate.get_by_uuid(context, aggregate_uuid)
    nova.objects.aggregate:Aggregate.update_metadata(self, updates)
    nova.objects.aggregate:AggregateList.get_all(context)
    nova.scheduler.rpcapi:SchedulerAPI.delete_aggregate(self, ctxt, aggregate)
    nova.scheduler.rpcapi:SchedulerAPI.update_aggregates
        (self, ctxt, aggregates)
  hosts
    nova.objects.compute_node:ComputeNode is type
    nova.objects.compute_node:ComputeNodeList.get_all(context)
    nova.objects.compute_node:ComputeNodeList.get_all_by_host
        (context, host, use_slave)
    nova.objects.compute_node:ComputeNodeList.get_all_by_uuids
        (context, compute_uuids)
    nova.objects.compute_node:ComputeNodeList.get_by_hypervisor
        (context, hypervisor_match)
  extra specs of flavors are judged
    nova.objects.flavor:Flavor is type
    nova.scheduler.filters.aggregate_instance_extra_specs:AggregateInstanceExtraSpecsFilter.host_passes
        (self, host_state, spec_obj)
    nova.scheduler.filters.compute_capabilities_filter:ComputeCapabilitiesFilter.host_passes
        (self, host_state, spec_obj)
  servers
    nova.objects.build_request:BuildRequest.get_by_instance_uuid
        (context, instance_uuid)
    nova.objects.instance:Instance.get_by_uuid
        (context, uuid, expected_attrs, use_slave)
    nova.objects.instance:InstanceList.get_by_filters
        (context, filters, sort_key, sort_dir, limit, marker, expected_attrs,
        use_slave, sort_keys, sort_dirs)
    nova.objects.instance_fault:InstanceFaultList.get_latest_by_instance_uuids
        (context, instance_uuids)
    nova.objects.instance_mapping:InstanceMapping.get_by_instance_uuid
        (context, instance_uuid)
    nova.objects.instance_mapping:InstanceMappingList.get_by_instance_uuids
        (context, uuids)
    nova.objects.migration:MigrationList.get_by_filters
        (context, filters, sort_keys, sort_dirs, limit, marker)
    nova.objects.migration:MigrationList.get_in_progress_by_instance
        (context, instance_uuid, migration_type)
  the end of servers
    nova.compute.api:API.confirm_resize(self, context, instance, migration)
    nova.compute.api:API.delete(self, context, instance)
    nova.compute.api:API.get
        (self, context, instance_id, expected_attrs, cell_down_support)
    nova.compute.api:API.shelve(self, context, instance, clean_shutdown)
    nova.compute.api:API.shelve_offload
        (self, context, instance, clean_shutdown)
    nova.compute.api:API.stop(self, context, instance, do_cast, clean_shutdown)
    nova.compute.api:API.unrescue(self, context, instance)
  moves past the scheduler; the end of servers
    nova.compute.api:API.live_migrate
        (self, context, instance, block_migration, disk_over_commit,
        host_name, force, async_)
  moves past the scheduler; servers on hosts that have failed
    nova.compute.api:API.evacuate
        (self, context, instance, host, on_shared_storage, admin_password,
        force, target_state)
  flavors of others; the end of servers
    nova.compute.api:API.resize
        (self, context, instance, flavor_id, clean_shutdown, host_name,
        auto_disk_config)
  snapshots
    nova.compute.api:API.snapshot
        (self, context, instance, name, extra_properties)
    nova.compute.api:API.suspend(self, context, instance)
    nova.compute.api:API.unpause(self, context, instance)
    nova.compute.api:API.unshelve(self, context, instance, new_az, host)
    nova.compute.utils:is_volume_backed_instance(context, instance, bdms)
    nova.image.glance:API.create(self, context, image_info, data)
    nova.image.glance:API.delete(self, context, id_or_uri)
    nova.image.glance:API.get_all(self, context, kwargs)
    nova.image.glance:API.update
        (self, context, id_or_uri, image_info, data, purge_props)
    nova.objects.block_device:BlockDeviceMappingList.get_by_instance_uuid
        (context, instance_uuid, use_slave)
  what was begun with servers
    nova.compute.instance_actions:
        {CREATE_IMAGE, DELETE, SHELVE, SHELVE_OFFLOAD, SUSPEND, UNSHELVE}
        is str
    nova.objects.instance_action:InstanceAction.finish(self)
    nova.objects.instance_action:InstanceAction.get_by_request_id
        (context, instance_uuid, request_id)
    nova.objects.instance_action:InstanceActionEvent is type
    nova.objects.instance_action:InstanceActionEvent.event_finish_with_failure
        (args, kwargs)
    nova.objects.instance_action:InstanceActionEvent.event_start
        (context, instance_uuid, event_name, want_result, host)
    nova.objects.instance_action:InstanceActionEventList.get_by_action
        (context, action_id)
    nova.objects.instance_action:InstanceActionList.get_by_instance_uuid
        (context, instance_uuid, limit, marker, filters)
  notifications
    nova.rpc:LEGACY_NOTIFIER is object
    nova.rpc:NOTIFICATION_TRANSPORT is object
    nova.rpc:NOTIFIER is object
  whether nova-compute works
    nova.objects.service:Service.get_by_host_and_binary(context, host, binary)
    nova.objects.service:ServiceList.get_by_binary
        (context, binary, include_disabled)
    nova.servicegroup.api:API.service_is_up(self, member)
  states of servers
    nova.compute.task_states:
        {DELETING, IMAGE_PENDING_UPLOAD, IMAGE_SNAPSHOT,
        IMAGE_SNAPSHOT_PENDING, IMAGE_UPLOADING, MIGRATING, POWERING_OFF,
        REBUILDING, REBUILD_BLOCK_DEVICE_MAPPING, REBUILD_SPAWNING,
        RESIZE_FINISH, RESIZE_MIGRATED, RESIZE_MIGRATING, RESIZE_PREP,
        RESIZE_REVERTING, SHELVING, SHELVING_IMAGE_PENDING_UPLOAD,
        SHELVING_IMAGE_UPLOADING, SHELVING_OFFLOADING, SUSPENDING,
        UNSHELVING} is str
    nova.compute.vm_states:
        {ACTIVE, BUILDING, ERROR, PAUSED, RESCUED, RESIZED, SHELVED,
        SHELVED_OFFLOADED, SOFT_DELETED, STOPPED, SUSPENDED} is str
  room for servers that are moved
    nova.objects.request_spec:RequestSpec.reset_forced_destinations(self)
    nova.scheduler.utils:resources_from_request_spec
        (ctxt, spec_obj, host_manager, enable_pinning_translate)
  refusals of Nova
    nova.exception:
        {AggregateNameExists, AggregateNotFound, AllocationUpdateFailed,
        BuildRequestNotFound, CinderConnectionFailed, ComputeHostNotFound,
        FlavorAccessExists, FlavorAccessNotFound, FlavorExists, FlavorIdExists,
        FlavorNotFound, FlavorNotFoundByName, GlanceConnectionFailed,
        InstanceGroupIdExists, InstanceGroupNotFound, InstanceMappingNotFound,
        InstanceNotFound, MigrationNotFoundByStatus, NovaException,
        PolicyNotAuthorized, RequestFilterFailed, RequestSpecNotFound} is type
  commands of ours
    nova.config:parse_args is function
    nova.objects:register_all()
    nova.rpc:RequestContextSerializer is type
    nova.rpc:TRANSPORT is object
    nova.rpc:get_transport_url(url_str)
  threads of commands, since Nova 32
    nova.monkey_patch:patch is function

nova-api
  the paste filter
    nova.api.wsgi:Middleware.factory(global_config, local_config)
    nova.api.wsgi:Request is type
  refusals in the words of Nova
    nova.api.openstack.wsgi:Fault.__init__(self, exception)
  projects that others lease for
    nova.api.openstack.identity:verify_project_id(context, project_id)
  our policy rules
    nova.context:RequestContext.can(self, action, target, fatal)
    nova.policies.servers:SERVERS is str
    nova.policies:list_rules()
    nova.policy:_ENFORCER is object
  which lease a server is in
    nova.objects.request_spec:RequestSpec.get_by_instance_uuid
        (context, instance_uuid)
  servers with a lease are known before they are made
    nova.compute.api:API._create_reqspec_buildreq_instmapping
        (context, rs, br, im)
  names of leases
    nova.api.validation.parameter_types:valid_name_regex.regex is str
  server groups of reservations do not count
    nova.db.api.models:InstanceGroup.name is object
    nova.db.api.models:InstanceGroup.project_id is object
    nova.db.api.models:InstanceGroup.user_id is object
    nova.db.api.models:InstanceGroup.uuid is object
    nova.objects.instance_group:InstanceGroupList.get_counts
        (context, project_id, user_id)
  extra specs of ours
    nova.api.validation.extra_specs.base:ExtraSpecValidator is type

nova-scheduler
  the request filter
    nova.scheduler.request_filter:ALL_REQUEST_FILTERS is list
    nova.scheduler.request_filter:process_reqspec(ctxt, request_spec)
  the host filter
    nova.scheduler.filters:BaseHostFilter.host_passes
        (self, host_state, filter_properties)
  open reservations
    nova.objects.request_spec:RequestSpec.obj_clone(self)
    nova.objects.selection:Selection.allocation_request is property
    nova.scheduler.manager:SchedulerManager.select_destinations(args, kwargs)
    nova.scheduler.rpcapi:SchedulerAPI.select_destinations
        (self, ctxt, spec_obj, instance_uuids, return_objects,
        return_alternates)
  flavors with numbered groups
    nova.scheduler.utils:ResourceRequest.from_request_spec
        (request_spec, enable_pinning_translate)
    nova.scheduler.utils:ResourceRequest.get_request_group(self, ident)
  a reservation's aggregate
    nova.objects.request_spec:Destination.require_aggregates(self, aggregates)
  the cell of a guaranteed place
    nova.objects.request_spec:Destination.cell is property
  the pool's trait
    nova.objects.request_spec:RequestSpec.root_forbidden is property
  workers have connections of their own
    nova.scheduler.client.report:PLACEMENTCLIENT is object
    nova.scheduler.manager:SchedulerManager.pre_start_hook(self, service_ref)
  the loop starts
    nova.scheduler.manager:SchedulerManager.post_start_hook(self)
  the loop stops
    nova.service:Service.stop(self)
  the loop's watchdog
    nova.scheduler.manager:SchedulerManager._add_periodic_task(task)
    nova.scheduler.manager:SchedulerManager._periodic_tasks is list
  consumers are loaded
    nova.scheduler.host_manager:HostManager._choose_host_filters
        (self, filter_cls_names)
  consumers read
    nova.scheduler.host_manager:HostState._update_from_compute_node
        (self, compute)
  consumers consume
    nova.scheduler.host_manager:HostState._locked_consume_from_request
        (self, spec_obj)
  consumers look at all hosts of a run
    nova.scheduler.manager:SchedulerManager._get_all_host_states
        (self, context, spec_obj, provider_summaries)
  the weighers
    nova.scheduler.utils:get_weight_multiplier
        (host_state, multiplier_name, multiplier_config)
    nova.scheduler.weights:BaseHostWeigher.weigh_objects
        (self, weighed_obj_list, weight_properties)
    nova.weights:normalize(weight_list, minval, maxval)
  what flavors ask for
    nova.scheduler.utils:ResourceRequest.XS_RES_PREFIX is str

nova-scheduler, nova-conductor
  the last look
    nova.scheduler.utils:claim_resources
        (ctx, client, spec_obj, instance_uuid, alloc_req,
        allocation_request_version)
  requests that claim nothing
    nova.scheduler.utils:request_is_rebuild(spec_obj)

nova-conductor
  whether it is guarded
    nova.manager:Manager.__init__(self, host, service_name)
  moves by force
    nova.exception:NoValidHost is type
    nova.scheduler.utils:claim_resources_on_destination
        (context, reportclient, instance, source_node, dest_node,
        source_allocations, consumer_generation)

nova-compute
  plugins start
    nova.compute.manager:ComputeManager.pre_start_hook(self, service_ref)
  resource plugins refuse a live migration
    nova.compute.manager:ComputeManager._get_nodename(self, instance, refresh)
    nova.compute.manager:ComputeManager.check_can_live_migrate_destination
        (self, ctxt, instance, block_migration, disk_over_commit, migration,
        limits)
    nova.exception:MigrationPreCheckError is type
  one change of the tracker at a time
    nova.compute.resource_tracker:COMPUTE_RESOURCE_SEMAPHORE is str
    nova.utils:synchronized is object
  the states of resource plugins
    nova.compute.resource_tracker:ResourceTracker.__init__
        (self, host, driver, reportclient)
  what the hypervisor reports
    nova.compute.resource_tracker:ResourceTracker._init_compute_node
        (self, context, resources)
  after an audit
    nova.compute.resource_tracker:ResourceTracker._update_available_resource
        (self, context, resources, startup)
  the states begin anew
    nova.compute.resource_tracker:ResourceTracker._update_usage_from_instances
        (self, context, instances, nodename)
  whose usage it is
    nova.objects.flavor:Flavor.obj_attr_is_set(self, attrname)
    nova.compute.resource_tracker:ResourceTracker._get_usage_dict
        (self, object_or_dict, instance, updates)
  servers come and go
    nova.compute.resource_tracker:ResourceTracker._update_usage
        (self, usage, nodename, sign)
  reports of plugins
    nova.compute.resource_tracker:ResourceTracker._update
        (self, context, compute_node, startup)
  nodes that leave
    nova.compute.resource_tracker:ResourceTracker.remove_node(self, nodename)
  resource plugins refuse a claim
    nova.compute.claims:Claim._claim_test(self, compute_node, limits)
    nova.compute.claims:MoveClaim._claim_test(self, compute_node, limits)
    nova.exception:ComputeResourcesUnavailable is type
  inventories of plugins
    nova.virt.driver:ComputeDriver.update_provider_tree
        (self, provider_tree, nodename, allocations)
  metric plugins stop
    nova.compute.manager:ComputeManager.cleanup_host(self)
  volumes that are measured
    nova.compute.manager:ComputeManager._update_volume_usage_cache
        (self, context, vol_usages)
  servers that are measured
    nova.compute.resource_tracker:ResourceTracker._update_usage_from_instance
        (self, context, instance, nodename, is_removed)
  metadata of servers that are measured
    nova.objects.instance:InstanceList.get_by_host_and_node
        (context, host, node, expected_attrs)
  what servers use
    nova.exception:InstanceNotRunning is type
    nova.virt.driver:ComputeDriver.get_diagnostics(self, instance)
    nova.virt.driver:ComputeDriver.get_instance_diagnostics(self, instance)
  what the host uses
    nova.virt.driver:ComputeDriver.get_host_cpu_stats(self)
  notifications of metrics
    nova.rpc:LEGACY_NOTIFIER is object
    nova.rpc:NOTIFICATION_TRANSPORT is object
    nova.rpc:NOTIFIER is object
"""
"""Processes, what they need it for, and what they need of Nova.

A row is ``module:name(parameters)`` of what is called, wrapped or extended,
or ``module:name is type`` of everything else; ``{}`` holds several names. What
it is for ends in ``since Nova N`` if older ones lack it and we do without.
"""

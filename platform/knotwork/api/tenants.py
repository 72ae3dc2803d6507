"""Tenants and their settings. A key that sees every source administers its own tenant; the operator every one."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from knotwork.api.auth import Administering
from knotwork.api.problems import ALWAYS, problem_responses
from knotwork.api.schemas import TenantAnswer, TenantBody, TenantDetail, TenantList
from knotwork.api.state import state_of
from knotwork.domain.catalogue import TenantSettings
from knotwork.services.maintenance import OperationKind

router = APIRouter(prefix="/v1/tenants", tags=["tenants"])


@router.get("", responses=problem_responses(*ALWAYS))
async def list_tenants(request: Request, identity: Administering) -> TenantList:
    """The tenants that the caller administers, sorted."""
    if not identity.is_operator:
        return TenantList(items=[identity.tenant])
    return TenantList(items=list(await state_of(request).platform.tenants.list()))


@router.put("/{tenant}", responses=problem_responses(*ALWAYS, "upload_too_large", "upload_stalled"))
async def put_tenant(request: Request, identity: Administering, tenant: str, body: TenantBody) -> TenantAnswer:
    """Create a tenant, or replace its settings; a change queues every source to follow it."""
    identity.require_whole_tenant()
    settings = TenantSettings(body.graph, body.extraction_model)
    queued = await state_of(request).platform.tenants.put(identity.require_tenant(tenant), settings)
    return TenantAnswer(tenant=tenant, settings=body, queued=queued)


@router.get("/{tenant}", responses=problem_responses(*ALWAYS))
async def get_tenant(request: Request, identity: Administering, tenant: str) -> TenantDetail:
    """A tenant's settings, and how much it has."""
    identity.require_whole_tenant()  # the counts are of every source
    settings, counts = await state_of(request).platform.tenants.get(identity.require_tenant(tenant))
    return TenantDetail(tenant=tenant, settings=TenantBody.of(settings), counts=dict(counts))


@router.delete("/{tenant}", status_code=204, responses=problem_responses(*ALWAYS, "maintenance_under_way"))
async def delete_tenant(request: Request, identity: Administering, tenant: str) -> Response:
    """Remove a tenant with everything it has: sources, graph, vectors, jobs, keys."""
    identity.require_whole_tenant()
    platform, id_ = state_of(request).platform, identity.require_tenant(tenant)
    with platform.maintenance.alone(OperationKind.DELETE, id_):  # an import would go on writing
        await platform.tenants.delete(id_)
    return Response(status_code=204)

"""Who calls: an API key, the local operator's token, or, until the first key, whoever is on this machine."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Header, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from knotwork.api.state import State, state_of
from knotwork.domain.checks import checked_subject
from knotwork.domain.model import Subject, TenantId
from knotwork.domain.retrieval import Reader
from knotwork.errors import InvalidInput, NotAllowed, NotAuthenticated
from knotwork.ports.keys import Scope
from knotwork.services.access import Caller, operator

DEFAULT_TENANT = TenantId("default")

bearer = HTTPBearer(auto_error=False, description="An API key, `kw_...`; none is needed until the first is made.")

Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(bearer)]
TenantHeader = Annotated[
    str | None,
    Header(alias="Knotwork-Tenant", description="The tenant; by default the key's own, or `default` for the operator."),
]
SubjectsHeader = Annotated[
    str | None,
    Header(
        alias="Knotwork-Subjects",
        description="Auth subjects of the end user whose eyes to read with, comma-separated; needs the scope act-as.",
    ),
]


@dataclass(frozen=True, slots=True)
class Identity:
    """The caller of a request. `is_operator`: runs the platform, so may name any tenant."""

    caller: Caller
    is_operator: bool
    acting_for: tuple[Subject, ...] | None

    @property
    def tenant(self) -> TenantId:
        return self.caller.tenant

    @property
    def reader(self) -> Reader:
        """With whose eyes sources are read.

        Raises:
            NotAllowed: an end user is named without the scope act-as.
        """
        return self.caller.reader(self.acting_for)

    def require_tenant(self, tenant: str) -> TenantId:
        """Raises: NotAllowed: a key is used on a tenant that is not its own."""
        if not self.is_operator and tenant != self.tenant:
            raise NotAllowed(f"this key belongs to tenant {self.tenant!r}")
        return TenantId(tenant)

    def require_whole_tenant(self) -> None:
        """Raises: NotAllowed: the caller is limited to some subjects, or acts for somebody."""
        self.caller.require_whole_tenant()
        if self.acting_for is not None:
            raise NotAllowed("this concerns every source of the tenant; leave out Knotwork-Subjects")

    def require_operator(self) -> None:
        """Raises: NotAllowed: a key calls, and what it asks concerns the machine."""
        if not self.is_operator:
            raise NotAllowed("only the operator of this service may see that; ask on its machine")


async def identify(
    request: Request, credentials: Credentials, named_tenant: TenantHeader = None, named_subjects: SubjectsHeader = None
) -> Identity:
    """Who calls.

    Raises:
        NotAuthenticated: a key is needed and missing, or unknown.
        NotAllowed: the tenant named is not the key's, or a web page of another origin calls.
        InvalidInput: a header is malformed.
    """
    state = state_of(request)
    acting_for = None if named_subjects is None else _subjects(named_subjects)
    if credentials is None:
        await _require_open(request, state)
        identity = Identity(operator(TenantId(named_tenant or DEFAULT_TENANT)), is_operator=True, acting_for=acting_for)
    elif is_local(request) and hmac.compare_digest(credentials.credentials.encode(), state.operator_token.encode()):
        identity = Identity(operator(TenantId(named_tenant or DEFAULT_TENANT)), is_operator=True, acting_for=acting_for)
    else:
        identity = Identity(await state.platform.access.check(credentials.credentials), False, acting_for)
        if named_tenant is not None:
            identity.require_tenant(named_tenant)
    request.state.tenant = identity.tenant
    return identity


def allowed(scope: Scope, *, tenant_exists: bool = True) -> Callable[..., Awaitable[Identity]]:
    """A dependency: the caller, who carries this scope, of a tenant that exists."""

    async def check(request: Request, identity: Annotated[Identity, Depends(identify)]) -> Identity:
        identity.caller.require(scope)
        if scope is Scope.ADMIN and identity.acting_for is not None:
            raise NotAllowed("end users administer nothing; leave out Knotwork-Subjects")
        if tenant_exists:
            await state_of(request).platform.tenants.require(identity.tenant)
        return identity

    return check


Reading = Annotated[Identity, Depends(allowed(Scope.READ))]
Writing = Annotated[Identity, Depends(allowed(Scope.WRITE))]
Administering = Annotated[Identity, Depends(allowed(Scope.ADMIN, tenant_exists=False))]


async def _require_open(request: Request, state: State) -> None:
    """See that a call without a key is served: there never was a key, and it comes from this machine."""
    if await state.platform.access.is_guarded():
        raise NotAuthenticated("API keys are in use; send one as `Authorization: Bearer kw_...`")
    if not is_local(request):
        raise NotAuthenticated("no API key exists, so only this machine is served; create one there first")
    # A web page in a browser of this machine must not act as its operator: neither by a request to another
    # origin, nor by a name of its own that resolves to this machine.
    origin = request.headers.get("origin")
    host = request.headers.get("host", "")
    if not _is_loopback(_hostname(f"//{host}")) or (origin is not None and urlsplit(origin).netloc != host):
        raise NotAllowed("without an API key only this machine is served, at a loopback address")


def is_local(request: Request) -> bool:
    """Whether the request comes from this machine."""
    return request.client is not None and _is_loopback(request.client.host)


def _is_loopback(host: str | None) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def _hostname(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _subjects(header: str) -> tuple[Subject, ...]:
    try:
        text = header.encode("latin-1").decode()  # headers arrive as bytes; ours are UTF-8
    except UnicodeDecodeError as error:
        raise InvalidInput("Knotwork-Subjects is not UTF-8") from error
    return tuple(checked_subject(part.strip()) for part in text.split(",") if part.strip())

"""Every error raised on purpose. The API maps `code` to a status; retries look at `retryable` alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class PlatformError(Exception):
    """The root. Its message says what is wrong and what to do; the data is as it was."""

    code: str = "internal"
    retryable: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        """So that a worker process can hand it over whole: an exception is rebuilt from its message otherwise."""
        return _rebuilt, (type(self), self.args, vars(self))


class InvalidInput(PlatformError):
    """A value from outside cannot be used."""

    code = "invalid_input"


class UnknownTenant(PlatformError):
    """No tenant of this name."""

    code = "unknown_tenant"

    def __init__(self, tenant: str) -> None:
        super().__init__(
            f"tenant {tenant!r} does not exist; create it with `knotwork tenants set` or PUT /v1/tenants/{{tenant}}"
        )
        self.tenant = tenant


class NotFound(PlatformError):
    """The thing named is not there, or not for this caller."""

    code = "not_found"

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f"no {kind} named {name!r} that you may see")
        self.kind, self.name = kind, name


class AmbiguousName(PlatformError):
    """A name that several entities have, of different types; `candidates` are what it may mean."""

    code = "ambiguous_name"

    def __init__(self, name: str, candidates: Sequence[Mapping[str, object]]) -> None:
        ids = ", ".join(repr(one["id"]) for one in candidates[:5])
        super().__init__(f"{name!r} may mean {ids}{' and others' if candidates[5:] else ''}; give the id")
        self.name, self.candidates = name, list(candidates)


class TraversalRefused(PlatformError):
    """A traversal's file is not as it must be, so it is not run."""

    code = "traversal_refused"

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"traversal {name!r} is refused: {reason}")
        self.name, self.reason = name, reason


class EverySourceNeeded(PlatformError):
    """A traversal does not ask what its reader may see, and this reader is one of some subjects."""

    code = "every_source_needed"

    def __init__(self, name: str) -> None:
        super().__init__(f"traversal {name!r} does not use $audiences, so it is only for callers without subjects")
        self.name = name


class LimitReached(PlatformError):
    """A traversal took more time or memory than it may; nothing of it is returned."""

    code = "limit_reached"


class QuotaExceeded(PlatformError):
    """A tenant has used up what it may in a period."""

    code = "quota_exceeded"

    def __init__(self, *, tenant: str, limit: str, most: int, used: int, ends_at: str, retry_after_s: int) -> None:
        super().__init__(
            f"tenant {tenant!r} has used {used:,} of the {most:,} {limit.replace('_', ' ')} that it may; come again at "
            f"{ends_at}, or ask the operator for more (PUT /v1/tenants/{{tenant}}/quota)"
        )
        self.tenant, self.limit, self.most, self.used = tenant, limit, most, used
        self.ends_at, self.retry_after_s = ends_at, retry_after_s


class StoreUnavailable(PlatformError):
    """A store did not answer; the same call may succeed later."""

    code = "store_unavailable"
    retryable = True

    def __init__(self, store: str, reason: str) -> None:
        super().__init__(f"{store} does not answer ({reason}); see `knotwork doctor`")
        self.store, self.reason = store, reason


class ProvenanceMissing(PlatformError):
    """A mention names a chunk the graph does not hold; nothing of the batch was written."""

    code = "provenance_missing"

    def __init__(self, *, found: int, expected: int) -> None:
        super().__init__(f"{found} of {expected} mentions name a stored chunk; put_chunks first")
        self.found, self.expected = found, expected


class DimensionMismatch(PlatformError):
    """The embedder's dimension differs from that of the collection."""

    code = "dimension_mismatch"

    def __init__(self, *, collection: str, stored: int, configured: int) -> None:
        super().__init__(
            f"collection {collection!r} holds vectors of {stored} dimensions, the embedder gives {configured}; "
            "configure the embedder that filled it, and name this one in KNOTWORK_NEXT_EMBEDDING_* to change over, or "
            "start with an empty home (KNOTWORK_HOME) and ingest again"
        )
        self.collection, self.stored, self.configured = collection, stored, configured


class UnsupportedDocument(PlatformError):
    """A document's type or encoding cannot be read."""

    code = "unsupported_document"


class ModelFailed(PlatformError):
    """A model's answer is missing or unusable, after retries."""

    code = "model_failed"
    retryable = True


class ModelRefused(PlatformError):
    """A model endpoint refuses the request for good (wrong key, unknown model, wrong dimension)."""

    code = "model_refused"


class ModeNotConfigured(PlatformError):
    """A retrieval mode is not wired."""

    code = "mode_not_configured"

    def __init__(self, mode: str, needs: str) -> None:
        super().__init__(f"mode {str(mode)!r} is not available: {needs}")
        self.mode, self.needs = mode, needs


class OptionNotConfigured(PlatformError):
    """An option of a query needs something that is not configured."""

    code = "option_not_configured"

    def __init__(self, option: str, needs: str) -> None:
        super().__init__(f"option {option!r} is not available: {needs}")
        self.option, self.needs = option, needs


class RunFailed(PlatformError):
    """A run that was waited for ended without its work done; `run_code` says why."""

    code = "run_failed"

    def __init__(self, *, run_id: str, run_code: str, reason: str) -> None:
        super().__init__(f"the job failed ({run_code}): {reason}")
        self.run_id, self.run_code = run_id, run_code


class InvalidRanking(PlatformError):
    """A ranking cannot be fused."""

    code = "invalid_ranking"


class NotAllowed(PlatformError):
    """The key does not carry the scope that the call needs."""

    code = "not_allowed"


class NotAuthenticated(PlatformError):
    """No key, or one that is unknown."""

    code = "not_authenticated"


class SetupFailed(PlatformError):
    """The platform cannot be started as configured; the message says what to mend."""

    code = "setup_failed"


class ExportDamaged(InvalidInput):
    """A line is none of an export, or the lines do not add up to their hash."""

    code = "export_damaged"


class TenantNotEmpty(InvalidInput):
    """An import needs a tenant without sources."""

    code = "tenant_not_empty"

    def __init__(self, tenant: str) -> None:
        super().__init__(f"tenant {tenant!r} has sources already; import into a new one, or delete it first")
        self.tenant = tenant


class MaintenanceUnderWay(PlatformError):
    """Another operation on the stores is under way, which this one would disturb."""

    code = "maintenance_under_way"

    def __init__(self, kind: str) -> None:
        super().__init__(f"one at a time: {kind} is under way; try again when it is over")
        self.kind = kind


class ImportDiffers(PlatformError):
    """What was imported does not export as the file that it came from."""

    code = "import_differs"


class TextMissing(PlatformError):
    """A source has lost its text, so that it cannot be exported."""

    code = "text_missing"


class WrittenMeanwhile(PlatformError):
    """A store was written to while it was copied; nothing was changed."""

    code = "written_meanwhile"
    retryable = True


def _rebuilt(kind: type[PlatformError], args: tuple[Any, ...], facts: dict[str, Any]) -> PlatformError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(facts)
    return error

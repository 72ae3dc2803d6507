"""Keys tell whose they are, and a tenant's lie together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork.domain.ids import key_range, key_tenant, storage_key
from knotwork.domain.model import TenantId
from knotwork.services.repair import pieced_together

TENANTS = st.text(min_size=1, max_size=8).map(TenantId)
IDS = st.text(max_size=20) | st.just("x" * 5000)


@given(TENANTS, IDS)
def test_a_key_names_its_tenant_and_lies_in_its_range(tenant: TenantId, id_: str) -> None:
    key = storage_key(tenant, id_)
    after, until = key_range(tenant)
    assert key_tenant(key) == tenant
    assert after < key < until


@given(st.from_regex(r"[a-z0-9._-]{1,6}", fullmatch=True), st.from_regex(r"[a-z0-9._-]{1,6}", fullmatch=True), IDS)
def test_no_key_of_another_tenant_lies_in_a_tenants_range(one: str, other: str, id_: str) -> None:
    after, until = key_range(TenantId(one))
    assert one == other or not after < storage_key(TenantId(other), id_) < until


@pytest.mark.parametrize("text", ["", "no joint", "doubled::joint"])
def test_what_is_no_key_names_nobody(text: str) -> None:
    assert key_tenant(text) is None


def test_a_text_is_pieced_together_from_overlapping_spans() -> None:
    parsed = pieced_together("T", {0: "Ada knows Bob.", 16: "Bob knows Eve.", 10: "Bob."}, 30)
    assert (parsed.title, parsed.text) == ("T", "Ada knows Bob.\n\nBob knows Eve.")

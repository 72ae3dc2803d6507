"""Mode auto over REST: the trace in the answer, and one question counted once."""

from __future__ import annotations

import pytest

from integration.api.conftest import Api, Running

pytestmark = pytest.mark.neo4j


async def test_auto_tells_which_mode_answered_and_why_and_counts_once(api: Api, running: Running) -> None:
    await api.put("herons.txt", "Herons wait. Error HRN-7 means that a heron left.")
    answer = (await api("POST", "/query", json={"query": "HRN-7", "mode": "auto"})).json()
    told = answer["explanation"]["auto"]
    assert (answer["mode"], told["mode"]) == ("auto", "keyword")
    assert told["why"] == "entry 'keyword' was chosen for this turn (a code, a quotation or bare terms)"
    assert [step["mode"] for step in told["steps"]] == ["keyword"]
    assert len(answer["passages"]) == 1

    answer = (await api("POST", "/query", json={"query": "HRN-8", "mode": "auto", "explain": True})).json()
    steps = answer["explanation"]["auto"]["steps"]
    assert [step["mode"] for step in steps] == ["keyword", "hybrid"]
    assert steps[1]["why"] == "the route 'keyword' → 'hybrid' fired (nothing has these words or this code)"
    assert answer["usage"]["input_tokens"] > 0

    used = (await api("GET", f"/tenants/{api.tenant}/usage")).json()
    assert [(one["mode"], one["model"], one["queries"]) for one in used["items"]] == [
        ("auto", "", 1),
        ("auto", running.embedder.id, 1),
    ]
    assert used["today"]["queries"] == 2


async def test_options_of_a_query_hold_whatever_mode_is_chosen(api: Api) -> None:
    for name in ("a", "b", "c"):
        await api.put(f"{name}.txt", f"Herons of {name} wait at the weir.")
    for question in ("HRN-9", "weir herons", "Which herons depend on the weir?", "How is Weir connected to Heron?"):
        assert {one["source"]["id"] for one in await api.ask(question, mode="auto", filter={"source_id": "b.txt"})} <= {
            "b.txt"
        }
        assert len(await api.ask(question, mode="auto", top_k=2, diversity=0.5)) <= 2
        assert await api.ask(question, mode="auto", min_score=1000) == []
    weighed = await api("POST", "/query", json={"query": "herons?", "mode": "auto", "weights": {"keyword": 2}})
    assert weighed.status_code == 200

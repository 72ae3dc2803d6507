"""Cancelling jobs, and pausing and resuming them, over REST."""

from __future__ import annotations

import asyncio

import pytest

from integration.api.conftest import Api, MakeKey, address

pytestmark = pytest.mark.neo4j


async def test_jobs_of_a_paused_tenant_wait_are_cancelled_and_go_on(api: Api, key: MakeKey) -> None:
    assert (await api("POST", "/jobs/pause")).json() == {"paused": True}
    jobs = [
        (await api("PUT", address(f"{number}.txt"), json={"text": f"Text {number}."})).json()["job"]["id"]
        for number in range(3)
    ]
    listed = (await api("GET", "/jobs")).json()
    assert (listed["paused"], {job["state"] for job in listed["items"]}) == (True, {"queued"})
    waiting = asyncio.create_task(api("PUT", f"{address('3.txt')}?wait=true", json={"text": "Text 3."}))
    while len(listed["items"]) < 4:
        listed = (await api("GET", "/jobs")).json()
    reader = await key("read")
    assert (await reader("DELETE", f"/jobs/{jobs[1]}")).status_code == 403
    for job_id in (jobs[1], listed["items"][0]["id"]):
        answer = await api("DELETE", f"/jobs/{job_id}")
        assert (answer.status_code, answer.json()["job"]["state"]) == (200, "cancelled")
    problem = (await waiting).json()
    assert (problem["code"], problem["run_code"]) == ("run_failed", "cancelled")
    assert (await api("DELETE", "/jobs/unknown")).status_code == 404
    assert (await api("POST", "/jobs/resume")).json() == {"paused": False}
    for job_id in (jobs[0], jobs[2]):
        while (state := (await api("GET", f"/jobs/{job_id}")).json()["state"]) != "done":
            assert state in {"queued", "running"}
            await asyncio.sleep(0.05)
    assert [one["id"] for one in (await api("GET", "/sources")).json()["items"]] == ["0.txt", "2.txt"]
    answer = await api("DELETE", f"/jobs/{jobs[0]}")
    assert (answer.status_code, answer.json()["job"]["state"]) == (200, "done")
    assert 'knotwork_runs_over_total{state="cancelled"}' in (await api("GET", "/metrics")).text

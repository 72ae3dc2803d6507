"""A machine drives random graphs through random conversations and holds every step against the rules of the spec."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from knotwork.skills import ActivationKind, JumpRefused, MoveCause, SkillContext, SkillGraph, ToolResult
from unit.skills.skill_graphs import PlainGraph, PlainRoute, messages, plain_graphs, tool_results


def fires(route: PlainRoute, last: ToolResult | None) -> bool:
    """The rule of a route, written down a second time and independently of the library."""
    if last is None:
        return False
    if isinstance(route.on_tool_return, str) and route.on_tool_return != last.tool_name:
        return False
    if isinstance(route.on_tool_return, re.Pattern) and not route.on_tool_return.search(last.tool_name):
        return False
    return route.when is None or route.when(last)


def expected_next(plain: PlainGraph, ctx: SkillContext) -> str | None:
    if ctx.current_skill_id is None:
        if plain.choice != "first-match":
            return ctx.chosen_entry_id
        return next((skill_id for skill_id, when, _ in plain.entries if when is None or when(ctx)), None)
    ranked = sorted(
        (route for route in plain.routes if route.from_id == ctx.current_skill_id),
        key=lambda route: float("inf") if route.priority is None else route.priority,
    )
    return next((route.to_id for route in ranked if fires(route, ctx.last_tool_result)), ctx.current_skill_id)


class Conversation(RuleBasedStateMachine):
    """One turn after another over one graph: tool results, new messages, jumps at the model's request."""

    plain: PlainGraph
    graph: SkillGraph
    again: SkillGraph  # the same, declared in the other form
    ctx: SkillContext

    @initialize(plain=plain_graphs(sound=True), message=messages(), data=st.data())
    def start(self, plain: PlainGraph, message: str, data: st.DataObject) -> None:
        self.plain, self.graph, self.again = plain, plain.as_builder(), plain.as_config()
        self.ctx = SkillContext(message)
        self.choose(data)

    def choose(self, data: st.DataObject) -> None:
        """With a scorer or the menu, the caller may or may not have a choice yet."""
        if self.plain.choice != "first-match":
            entries = st.sampled_from(self.graph.reachable_skills(None))
            chosen = data.draw(st.one_of(entries, entries, entries, st.none()))
            self.ctx = SkillContext(self.ctx.user_message, chosen_entry_id=chosen)

    @rule(last=tool_results())
    def a_tool_returns(self, last: ToolResult) -> None:
        self.iterate(last)

    @rule(last=tool_results(), again=tool_results())
    def two_tools_return(self, last: ToolResult, again: ToolResult) -> None:
        self.iterate(last)
        self.iterate(again)

    @rule()
    def nothing_returns(self) -> None:
        self.iterate(None)

    def iterate(self, last: ToolResult | None) -> None:
        before, after = self.ctx.current_skill_id, self.graph.next_skill(self.ctx)
        if before is not None and after != before:
            assert any(
                route.from_id == before and route.to_id == after and fires(route, self.ctx.last_tool_result)
                for route in self.plain.routes
            ), "the cursor moved without a route of the skill it stood on"
        self.ctx = self.ctx.next(after, last)

    @rule(message=messages())
    def the_user_says_more(self, message: str) -> None:
        self.ctx = replace(self.ctx, user_message=message, iteration=0)

    @precondition(lambda self: self.ctx.iteration > 4)
    @rule(message=messages(), data=st.data())
    def a_turn_starts_cold(self, message: str, data: st.DataObject) -> None:
        self.ctx = SkillContext(message)
        self.choose(data)

    @rule(data=st.data())
    def jump(self, data: st.DataObject) -> None:
        target = data.draw(st.sampled_from([skill.id for skill in self.plain.skills]))
        current = self.ctx.current_skill_id
        if target in self.graph.reachable_skills(current):
            self.ctx = self.ctx.next(self.graph.jump(current, target))
        else:
            with pytest.raises(JumpRefused) as refused:
                self.graph.jump(current, target)
            assert refused.value.reachable == self.graph.reachable_skills(current)

    @invariant()
    def the_cursor_is_where_the_rules_say(self) -> None:
        assert self.graph.next_skill(self.ctx) == expected_next(self.plain, self.ctx)

    @invariant()
    def equal_input_gives_equal_output(self) -> None:
        assert self.again.next_skill(self.ctx) == self.graph.next_skill(self.ctx)
        assert self.again.step(self.ctx) == self.graph.step(self.ctx) == self.graph.step(self.ctx)

    @invariant()
    def the_reason_fits_the_move(self) -> None:
        move = self.graph.explain(self.ctx)
        assert move.from_id == self.ctx.current_skill_id
        if move.by is MoveCause.ROUTE:
            assert move.edge is not None
            assert (move.edge.from_id, move.edge.to_id) == (move.from_id, move.to_id)
        else:
            assert move.to_id == move.from_id or move.from_id is None

    @invariant()
    def exactly_one_routed_skill_is_active(self) -> None:
        cursor, active = self.graph.next_skill(self.ctx), self.graph.active_skills(self.ctx)
        gated = [skill_id for skill_id in active if self.graph.activation(skill_id).kind is ActivationKind.CURSOR]
        if cursor is None:
            assert gated == []
        else:
            assert cursor in active, "the skill under the cursor is not active: a gap"
            assert gated in ([], [cursor]), "a routed skill is active while the cursor is elsewhere: an overlap"

    @invariant()
    def each_compiled_activation_agrees_with_the_cursor(self) -> None:
        cursor, entered = self.graph.next_skill(self.ctx), {}
        for skill_id, when, _ in self.plain.entries:
            entered.setdefault(skill_id, []).append(when is None or when(self.ctx))
        for skill in self.plain.skills:
            as_entry = self.plain.choice == "first-match" and any(entered.get(skill.id, []))
            expected = as_entry or skill.id == cursor
            assert self.graph.is_active(skill.id, self.ctx) == expected
            assert (skill.id in self.graph.active_skills(self.ctx)) == expected

    @invariant()
    def the_reachable_set_is_the_neighbourhood(self) -> None:
        current = self.ctx.current_skill_id
        near = {skill_id for skill_id, _, _ in self.plain.entries}
        if current is not None:
            near |= {route.to_id for route in self.plain.routes if route.from_id == current}
            near -= {current}
        reachable = self.graph.reachable_skills(current)
        assert set(reachable) == near
        assert len(reachable) == len(near)


TestConversation = Conversation.TestCase
TestConversation.settings = settings(max_examples=120, stateful_step_count=25, deadline=None)


@given(plain_graphs(sound=True), tool_results(), st.data())
@settings(max_examples=40, deadline=None)
def test_routes_of_other_skills_make_no_difference(plain: PlainGraph, last: ToolResult, data: st.DataObject) -> None:
    here = data.draw(st.sampled_from([skill.id for skill in plain.skills]))
    alone = replace(plain, routes=tuple(route for route in plain.routes if route.from_id == here))
    ctx = SkillContext(current_skill_id=here, last_tool_result=last)
    assert plain.as_builder().next_skill(ctx) == alone.as_builder().next_skill(ctx)

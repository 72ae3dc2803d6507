"""From a declaration, in either form, to the compiled graph."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from types import MappingProxyType
from typing import Literal, TypeAlias

from knotwork.skills.checkup import Checkup, check_flat, check_tree
from knotwork.skills.cursor import EntryChoice, FlatRouting
from knotwork.skills.errors import InvalidSkillGraph
from knotwork.skills.graph import Activation, ActivationKind, SkillGraph
from knotwork.skills.model import (
    PROVENANCE_KEY,
    EdgeKind,
    Entry,
    Route,
    Skill,
    SkillEdge,
    SkillNode,
    TreeNode,
    unique,
)
from knotwork.skills.scoring import EntryScorer
from knotwork.skills.tree import PathStep, TreeRouting, flatten

CheckMode: TypeAlias = Literal["throw", "warn", "off"]


class SkillGraphWarning(UserWarning):
    """What the check-up found, with check="warn"."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """What both forms gather. With `tree` set, the entries, routes, scorer and `by_read` are empty."""

    skills: tuple[Skill, ...]
    entries: tuple[Entry, ...] = ()
    routes: tuple[Route, ...] = ()
    scorer: EntryScorer | None = None
    by_read: bool = False
    tree: TreeNode | None = None
    scope_tools: bool = True

    @property
    def choice(self) -> EntryChoice:
        if self.scorer is not None:
            return EntryChoice.SCORER
        return EntryChoice.READ if self.by_read else EntryChoice.FIRST_MATCH


def compile_graph(declared: Declaration, check: CheckMode) -> SkillGraph:
    """Compile, then check as asked.

    Raises:
        InvalidSkillGraph: `check` is "throw" and the check-up found an error, or `check` is no mode.
    """
    graph = _flat(declared) if declared.tree is None else _tree(declared, declared.tree)
    found = graph.checkup()
    match check:
        case "throw":
            if not found.ok:
                raise InvalidSkillGraph(f"the graph has errors:\n{Checkup(found.errors)}")
        case "warn":
            if found.problems:
                warnings.warn(f"the skill graph has problems:\n{found}", SkillGraphWarning, stacklevel=3)
        case "off":
            pass
        case other:  # pyright: ignore[reportUnnecessaryComparison]  # the mode may come from a file
            raise InvalidSkillGraph(f"check is {other!r}; use 'throw', 'warn' or 'off'")
    return graph


def _flat(declared: Declaration) -> SkillGraph:
    listed = {skill.id: skill for skill in declared.skills}
    known = frozenset(listed)
    routed_ends = (end for route in declared.routes for end in (route.from_id, route.to_id))
    wired = unique((*(entry.skill_id for entry in declared.entries), *routed_ends))
    order = unique((*wired, *listed))  # by first mention in the edges: both forms list skills differently
    edges = [entry.edge for entry in declared.entries] + [route.edge for route in declared.routes]
    entered = {edge.to_id for edge in edges}
    edges += [SkillEdge(None, skill_id, EdgeKind.MODEL) for skill_id in order if skill_id not in entered]
    incoming = _incoming(declared)
    activations = {
        skill_id: _activation(incoming[skill_id], declared.choice) for skill_id in order if skill_id in known
    }
    skills = tuple(
        _stamped(listed[skill_id], _flat_provenance(incoming[skill_id], activations[skill_id]))
        for skill_id in order
        if skill_id in known
    )
    live = [route for route in declared.routes if route.from_id in known and route.to_id in known]
    ranked = sorted(live, key=lambda route: (route.priority is None, route.priority or 0))  # stable: then as declared
    return _graph(
        declared,
        skills=skills,
        edges=tuple(edges),
        nodes=tuple(_skill_node(skill_id, known) for skill_id in order),
        routing=FlatRouting(
            entries=tuple(entry for entry in declared.entries if entry.skill_id in known),
            routes=_by_source(live),
            firing_order=_by_source(ranked),
            choice=declared.choice,
            skill_ids=known,
        ),
        activations=activations,
        checkup=check_flat(tuple(listed), declared.entries, declared.routes),
    )


def _tree(declared: Declaration, root: TreeNode) -> SkillGraph:
    listed = {skill.id: skill for skill in declared.skills}
    known = frozenset(listed)
    routing = flatten(root, known)
    paths: defaultdict[str, list[tuple[PathStep, ...]]] = defaultdict(list)
    for leaf in routing.leaves:
        paths[leaf.skill_id].append(leaf.path)
    order = unique((*paths, *listed))
    names = _branch_names(len(routing.branches), taken=frozenset(order))
    skills = tuple(
        _stamped(listed[skill_id], _tree_provenance(paths[skill_id]), scoped=declared.scope_tools)
        if skill_id in paths
        else _stamped(listed[skill_id], _MODEL_PROVENANCE)
        for skill_id in order
        if skill_id in known
    )
    kinds = {skill_id: ActivationKind.TREE if skill_id in paths else ActivationKind.MODEL for skill_id in known}
    return _graph(
        declared,
        skills=skills,
        edges=(
            *_tree_edges(routing, names),
            *(SkillEdge(None, skill_id, EdgeKind.MODEL) for skill_id in order if skill_id not in paths),
        ),
        nodes=tuple(_tree_nodes(routing, names, order)),
        routing=routing,
        activations={skill_id: Activation(kind) for skill_id, kind in kinds.items()},
        checkup=check_tree(tuple(listed), [leaf.skill_id for leaf in routing.leaves]),
    )


def _graph(
    declared: Declaration,
    *,
    skills: tuple[Skill, ...],
    edges: tuple[SkillEdge, ...],
    nodes: tuple[SkillNode, ...],
    routing: FlatRouting | TreeRouting,
    activations: Mapping[str, Activation],
    checkup: Checkup,
) -> SkillGraph:
    by_id = MappingProxyType({skill.id: skill for skill in skills})
    frozen = MappingProxyType(dict(activations))
    return SkillGraph(skills, edges, nodes, routing, declared.scorer, by_id, frozen, checkup)


# Activation and provenance ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Incoming:
    entries: tuple[Entry, ...] = ()
    routes: tuple[Route, ...] = ()


def _incoming(declared: Declaration) -> Mapping[str, _Incoming]:
    entries: defaultdict[str, list[Entry]] = defaultdict(list)
    routes: defaultdict[str, list[Route]] = defaultdict(list)
    for entry in declared.entries:
        entries[entry.skill_id].append(entry)
    for route in declared.routes:
        routes[route.to_id].append(route)
    wired: defaultdict[str, _Incoming] = defaultdict(_Incoming)
    for skill_id in (*entries, *routes):
        wired[skill_id] = _Incoming(tuple(entries[skill_id]), tuple(routes[skill_id]))
    return wired


def _activation(incoming: _Incoming, choice: EntryChoice) -> Activation:
    if not incoming.entries and not incoming.routes:
        return Activation(ActivationKind.MODEL)
    if not incoming.entries or choice is not EntryChoice.FIRST_MATCH:
        return Activation(ActivationKind.CURSOR)
    if any(entry.when is None for entry in incoming.entries):
        return Activation(ActivationKind.ALWAYS)
    return Activation(ActivationKind.WHEN, incoming.entries)


_MODEL_PROVENANCE: Mapping[str, object] = {"via": "model", "trigger_kind": "model"}


def _flat_provenance(incoming: _Incoming, activation: Activation) -> Mapping[str, object]:
    """How a skill is reached: through its first entry, else its first route, else at the model's request."""
    if incoming.entries:
        return _labelled({"via": "entry", "trigger_kind": activation.kind.value}, incoming.entries[0].edge)
    if incoming.routes:
        edge = incoming.routes[0].edge
        return _labelled({"via": "route", "from": edge.from_id, "trigger_kind": edge.kind.value}, edge)
    return _MODEL_PROVENANCE


def _labelled(provenance: dict[str, object], edge: SkillEdge) -> Mapping[str, object]:
    return provenance | {"label": edge.label} if edge.label else provenance


def _tree_provenance(paths: Sequence[tuple[PathStep, ...]]) -> Mapping[str, object]:
    provenance: dict[str, object] = {"via": "tree", "trigger_kind": "tree", "path": paths[0]}
    return provenance | {"paths": tuple(paths)} if len(paths) > 1 else provenance


def _stamped(skill: Skill, provenance: Mapping[str, object], *, scoped: bool = False) -> Skill:
    return replace(
        skill,
        metadata={**skill.metadata, PROVENANCE_KEY: MappingProxyType(dict(provenance))},
        auto_activate=skill.auto_activate or ("current_skill" if scoped else None),
    )


# Edges and nodes -------------------------------------------------------------------------------------------------


def _by_source(routes: Sequence[Route]) -> Mapping[str, tuple[Route, ...]]:
    grouped: defaultdict[str, list[Route]] = defaultdict(list)
    for route in routes:
        grouped[route.from_id].append(route)
    return MappingProxyType({from_id: tuple(group) for from_id, group in grouped.items()})


def _skill_node(skill_id: str, known: frozenset[str]) -> SkillNode:
    return SkillNode(skill_id, "skill", skill_id if skill_id in known else f"{skill_id} (unknown)")


def _branch_names(branches: int, *, taken: frozenset[str]) -> list[str]:
    """Ids for the predicate nodes that no skill has."""
    free = (name for number in count() if (name := f"decision-{number}") not in taken)
    return [next(free) for _ in range(branches)]


def _tree_edges(routing: TreeRouting, names: Sequence[str]) -> Iterator[SkillEdge]:
    for arrival in routing.arrivals:
        child = names[arrival.child] if isinstance(arrival.child, int) else arrival.child
        if arrival.parent is None:
            yield SkillEdge(None, child, EdgeKind.ENTRY)
        else:
            yield SkillEdge(names[arrival.parent], child, EdgeKind.PREDICATE, arrival.answer)


def _tree_nodes(routing: TreeRouting, names: Sequence[str], order: Sequence[str]) -> Iterator[SkillNode]:
    for name, branch in zip(names, routing.branches, strict=True):
        yield SkillNode(name, "predicate", branch.label)
    for skill_id in order:
        yield _skill_node(skill_id, routing.skill_ids)

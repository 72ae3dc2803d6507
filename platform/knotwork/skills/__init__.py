"""Skill graphs: a declared, drawn and checked state machine that routes conversations.

Declare with `skill_graph()` or `graph_from_config`; ask the `SkillGraph`. A graph in a
file is read by `knotwork.skills.declared`, which is not imported here: the core needs the standard library only. See
docs/reference/skills.md.
"""

from knotwork.skills.builder import SkillGraphBuilder, skill_graph
from knotwork.skills.checkup import Checkup, Level, Problem, ProblemCode
from knotwork.skills.compile import CheckMode, SkillGraphWarning
from knotwork.skills.config import GraphConfig, StartAt, StartByChoice, StartByRules, StepConfig, graph_from_config
from knotwork.skills.cursor import EntryChoice, Move, MoveCause
from knotwork.skills.errors import (
    InvalidDeclaration,
    InvalidSkillGraph,
    JumpRefused,
    PredicateFailed,
    ScoringFailed,
    UnknownSkill,
)
from knotwork.skills.graph import Activation, ActivationKind, SkillGraph, Step
from knotwork.skills.model import (
    PROVENANCE_KEY,
    Decision,
    EdgeKind,
    Skill,
    SkillContext,
    SkillEdge,
    SkillNode,
    ToolResult,
    decide_skill,
)
from knotwork.skills.scoring import (
    Candidate,
    EmbeddingScorer,
    EntryScore,
    EntryScorer,
    EntryScoring,
    Fallback,
    KeywordScorer,
    RawScores,
    function_scorer,
)

__all__ = [
    "PROVENANCE_KEY",
    "Activation",
    "ActivationKind",
    "Candidate",
    "CheckMode",
    "Checkup",
    "Decision",
    "EdgeKind",
    "EmbeddingScorer",
    "EntryChoice",
    "EntryScore",
    "EntryScorer",
    "EntryScoring",
    "Fallback",
    "GraphConfig",
    "InvalidDeclaration",
    "InvalidSkillGraph",
    "JumpRefused",
    "KeywordScorer",
    "Level",
    "Move",
    "MoveCause",
    "PredicateFailed",
    "Problem",
    "ProblemCode",
    "RawScores",
    "ScoringFailed",
    "Skill",
    "SkillContext",
    "SkillEdge",
    "SkillGraph",
    "SkillGraphBuilder",
    "SkillGraphWarning",
    "SkillNode",
    "StartAt",
    "StartByChoice",
    "StartByRules",
    "Step",
    "StepConfig",
    "ToolResult",
    "UnknownSkill",
    "decide_skill",
    "function_scorer",
    "graph_from_config",
    "skill_graph",
]

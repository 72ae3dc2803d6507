"""A traversal as a query for Neo4j Browser, where the operator looks at the graph: whole, with its values on top."""

from __future__ import annotations

from knotwork.domain.cypher_script import literal
from knotwork.domain.cypher_tokens import Kind, tokens_of
from knotwork.domain.traversals import ParameterType, Traversal, TraversalScope

ROWS = 100
EXAMPLES: dict[ParameterType, object] = {  # of what must be given
    ParameterType.ENTITY: "concept:retry budget",
    ParameterType.STRING: "readme",
    ParameterType.STRINGS: [],
    ParameterType.INTEGER: 1,
    ParameterType.FLOAT: 1.0,
    ParameterType.BOOLEAN: True,
}


def saved_query(traversal: Traversal, *, tenant: str) -> str:
    """One statement that needs no parameters: `WITH` gives them values to be changed, and all audiences are held.

    Args:
        traversal: As it was read.
        tenant: Whose rows it shows until somebody writes another name there.
    """
    values = {one.name: EXAMPLES[one.type] if one.default is None else one.default for one in traversal.parameters}
    given = "".join(f", {literal(value)} AS {_variable(name)}" for name, value in values.items())
    carried = "".join(f", {_variable(name)}" for name in values)
    columns = ", ".join(column.name for column in traversal.columns)
    change = "the values" if traversal.scope is TraversalScope.OPERATOR else "the tenant, and the values beside it,"
    return (
        f"// Title: {traversal.name}: {traversal.question}\n"
        f"// Change {change} in the first line. It shows what all sources say, whoever may read them.\n"
        f"WITH {literal(tenant)} AS {_variable('tenant')}{given}\n"
        f"OPTIONAL MATCH (p_audience:Audience {{tenant: {_variable('tenant')}}})\n"
        f"WITH {_variable('tenant')}{carried}, collect(p_audience.key) AS {_variable('audiences')}\n"
        f"CALL (*) {{\n{_with_variables(traversal.statement)}\n}}\n"
        f"RETURN {columns}\n"
    )


def _with_variables(statement: str) -> str:
    """The statement without its header, its parameters made variables; a LIMIT takes none, so it gets a number."""
    tokens = tokens_of(statement)
    body, at = "", tokens[0].start
    for token in tokens:
        if token.kind is Kind.PARAMETER:
            name = token.text[1:]
            body += statement[at : token.start] + (str(ROWS) if name == "limit" else _variable(name))
            at = token.start + len(token.text)
    return (body + statement[at:]).rstrip()


def _variable(name: str) -> str:
    return f"p_{name}"  # apart from whatever variables the statement has

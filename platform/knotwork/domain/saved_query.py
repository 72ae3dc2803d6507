"""A traversal as a query for Neo4j Browser, where the operator looks at the graph: whole, with its values on top."""

from __future__ import annotations

from collections.abc import Sequence

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
        f"CALL (*) {{\n{_with_variables(traversal.statement, ['tenant', 'audiences', *values])}\n}}\n"
        f"RETURN {columns}\n"
    )


def _with_variables(statement: str, names: Sequence[str]) -> str:
    """The statement without its header, its parameters made variables; a LIMIT takes none, so it gets a number.

    A parameter is seen everywhere, a variable within `CALL` only where it is imported.
    """
    tokens = tokens_of(statement)
    imported = ", ".join(map(_variable, names))
    body, at = "", tokens[0].start
    for place, token in enumerate(tokens):
        end = token.start + len(token.text)
        if token.kind is Kind.PARAMETER:
            name = token.text[1:]
            body += statement[at : token.start] + (str(ROWS) if name == "limit" else _variable(name))
            at = end
        elif token.word == "CALL" and place + 2 < len(tokens):
            after, next_ = tokens[place + 1], tokens[place + 2]
            if after.text == "{" and next_.word == "WITH":  # CALL { WITH e ...
                end = next_.start + len(next_.text)
                body, at = body + statement[at:end] + f" {imported},", end
            elif after.text == "{":
                body, at = body + statement[at:end] + f" ({imported})", end
            elif after.text == "(" and next_.text != "*":  # CALL (e) { ...
                end = after.start + 1
                body, at = body + statement[at:end] + (imported if next_.text == ")" else f"{imported}, "), end
    return (body + statement[at:]).rstrip()


def _variable(name: str) -> str:
    return f"p_{name}"  # apart from whatever variables the statement has

"""Splits scripts and parses their statements; docs/reference/statements.md has the grammar."""

from collections.abc import Callable, Sequence
from collections.abc import Mapping as AnyMapping
from functools import partial

from google.protobuf.descriptor import Descriptor
from sqlglot import TokenType

from tableveil.convert.names import DEFAULT_SCHEMA
from tableveil.document.nodes import Mapping, Node, UnreadableError
from tableveil.document.read import fill, parse_document
from tableveil.errors import Fault, InvalidError
from tableveil.statements import statement as ast
from tableveil.statements.privacy import PrivacyClause
from tableveil.statements.tokens import StatementTokens, tokenized
from tableveil.statements.values import FieldPlaces, Values
from tableveil.v1 import access_pb2, policy_pb2
from tableveil.v1.access_service_pb2 import GrantRule
from tableveil.v1.privacy_service_pb2 import Privacy

_FIELDS = policy_pb2.Policy.DESCRIPTOR.fields_by_name
_PRIVACY: Descriptor = policy_pb2.PrivacyModel.DESCRIPTOR
_QUALITY: Descriptor = policy_pb2.QualityModel.DESCRIPTOR
_IN_YAML = "policy"
_BECAUSE = "BECAUSE"
_QUERIES = (
    "`tableveil export` writes a release to a file that DuckDB opens, and `tableveil endpoint` answers queries. "
    "`tableveil describe` shows the columns of a table."
)


def parse(text: str) -> ast.Statement:
    """The statement of a text.

    Raises:
        InvalidError: it is none; the faults' fields are lines and columns. A policy is not judged yet, but has the
            fields that the statement gives it.
    """
    tokens = StatementTokens(text)
    for word, read in _STATEMENTS.items():
        if tokens.accept(word):
            statement = read(tokens)
            tokens.expect_end()
            return statement
    if any(tokens.is_next(word) for word in ("SELECT", "WITH", "FROM", "DESCRIBE")):
        tokens.refuse(tokens.offset, "a query", "a statement about releases", _QUERIES)
    tokens.refuse_next()


def _explain(tokens: StatementTokens) -> ast.Statement:
    tokens.expect("CREATE")
    return _create(tokens, dry_run=True)


def _alter(tokens: StatementTokens) -> ast.Statement:
    if tokens.accept("SCHEMA"):
        schema = tokens.name("a name")
        tokens.expect("SET", "JOINT_K", "=")
        joint_k = tokens.accept("TRUE")
        if not joint_k:
            tokens.expect("FALSE")
        return ast.SetSchemaRule(schema, joint_k)
    tokens.expect("TABLE")
    places = FieldPlaces(tokens)
    places.note("source")
    table = _table(tokens)
    tokens.expect("SET", "PRIVACY")
    privacy = Privacy()
    if faults := fill(privacy, PrivacyClause(tokens, places).fields):
        raise invalid([places.of(fault) for fault in faults])
    return ast.SetPrivacy(table, privacy, places)


def _refresh(tokens: StatementTokens) -> ast.Statement:
    target = _target(tokens)
    return ast.Refresh(target, _reason(tokens) if tokens.is_next(_BECAUSE) else "")


def _drop(tokens: StatementTokens) -> ast.Statement:
    return ast.Withdraw(_target(tokens), _reason(tokens))


def _promote(tokens: StatementTokens) -> ast.Statement:
    tokens.expect("RELEASE")
    name, others = f"releases/{tokens.whole_number()}", list[str]()
    if tokens.accept("OTHER"):
        tokens.expect("PEOPLE", "(")
        others += [f"releases/{tokens.whole_number()}" for _ in tokens.items(")", least=1)]
    return ast.Promote(name, _reason(tokens) if tokens.is_next(_BECAUSE) else "", tuple(others))


def _decide(tokens: StatementTokens, *, approved: bool) -> ast.Statement:
    tokens.expect("RELEASE")
    name = f"releases/{tokens.whole_number()}"
    return ast.Decide(name, approved, _reason(tokens))


def _grant(tokens: StatementTokens, *, taken: bool) -> ast.Statement:
    tokens.expect("SELECT", "ON")
    table = _target(tokens).reference
    tokens.expect("FROM" if taken else "TO")
    rule = GrantRule(role=access_pb2.ACCESS_ROLE_ANALYST, schema=table.schema or DEFAULT_SCHEMA, table=table.table)
    if tokens.accept("GROUP"):
        rule.group = tokens.name("a group")
    else:
        rule.principal = tokens.name("a principal")
    return ast.GrantStatement(rule, taken)


def _reason(tokens: StatementTokens) -> str:
    tokens.expect(_BECAUSE)
    return tokens.string("a reason in quotes")


def _target(tokens: StatementTokens) -> ast.StatementTarget:
    tokens.expect("ANONYMIZED")
    if not tokens.accept("TABLE"):
        tokens.expect("VIEW")
    place = tokens.place(tokens.offset)
    return ast.StatementTarget(_table(tokens, "schema", "table"), place)


def _table(tokens: StatementTokens, *parts: str) -> policy_pb2.TableReference:
    """The table of a name, which has as many parts as a reference unless told."""
    reference = policy_pb2.TableReference()
    fill(reference, Mapping(_named(tokens, tokens.names("a name"), *(parts or ("catalog", "schema", "table")))))
    return reference


def _show(tokens: StatementTokens) -> ast.Statement:
    if tokens.accept("CREATE"):
        return ast.ShowCreate(_target(tokens))
    for word, shown in (("PRIVACY", ast.ShowPrivacy), ("RISK", ast.ShowRisk)):
        if tokens.accept(word):
            tokens.expect("OF")
            return shown(_table(tokens))
    tokens.expect("RELEASES")
    return ast.ShowReleases(tokens.whole_number() if tokens.accept("LIMIT") else 0)


def _create_any(tokens: StatementTokens) -> ast.Statement:
    return ast.CreateSchema(tokens.name("a name")) if tokens.accept("SCHEMA") else _create(tokens)


def _create(tokens: StatementTokens, *, dry_run: bool = False) -> ast.Statement:
    places = FieldPlaces(tokens)
    release = Mapping()
    if tokens.accept("OR", "REPLACE"):
        release.entries.append(("if_exists", "REPLACE"))
    tokens.expect("ANONYMIZED")
    trial = tokens.accept("TRIAL")
    if not tokens.accept("TABLE") and not (trial and not tokens.is_next("VIEW")):
        tokens.expect("VIEW")
        release.entries.append(("kind", "VIEW"))
    places.note("release")
    release.entries.extend(_named(tokens, tokens.names("a name"), "schema", "name"))
    policy = Mapping([("release", release)])
    if tokens.accept("PRIVACY"):
        policy.entries.extend(PrivacyClause(tokens, places).fields.entries)
    tokens.expect("AS")
    places.note("source")
    places.note("source_query")
    query = tokens.select()
    if isinstance(query, str):
        policy.entries.append(("source_query", query))
    else:
        policy.entries.append(("source", Mapping(_named(tokens, query, "catalog", "schema", "table"))))
    if tokens.accept("WITH"):
        _Options(tokens, places, policy).read()
    _name_people(policy)
    message = policy_pb2.Policy()
    if faults := fill(message, policy):
        raise invalid([places.of(fault) for fault in faults])
    return ast.CreateAnonymized(message, places, dry_run, trial)


def _name_people(policy: Mapping) -> None:
    """Makes the statement's source and person the people of related tables, which say nothing of these."""
    stated = dict(policy.entries)
    tables, source, person = stated.get("tables"), stated.get("source"), stated.get("person_column")
    if isinstance(tables, Mapping) and isinstance(source, Mapping) and "people" not in dict(tables.entries):
        key: list[tuple[str, Node]] = [("key", person)] if person is not None else []
        tables.entries.insert(0, ("people", Mapping([*source.entries, *key])))
        policy.entries[:] = [(name, node) for name, node in policy.entries if name not in ("source", "person_column")]


class _Options:
    """Reads the clause WITH into the fields of a policy."""

    def __init__(self, tokens: StatementTokens, places: FieldPlaces, policy: Mapping) -> None:
        self._tokens = tokens
        self._places = places
        self._values = Values(tokens, places)
        self._policy = policy
        self._models: list[Node] = []

    def read(self) -> None:
        """Reads its items up to the closing bracket."""
        tokens = self._tokens
        tokens.expect("(")
        for _ in tokens.items(")"):
            if tokens.is_named("=", _IN_YAML):
                self._yaml()
            elif tokens.is_named("="):
                self._put(*self._values.named("", _FIELDS, "="))
            else:
                self._model()
        if self._models:
            self._put("privacy_models", self._models)

    def _model(self) -> None:
        token = self._tokens.peek
        is_quality = token is not None and token.text in _QUALITY.fields_by_name
        path = "quality_model" if is_quality else f"privacy_models[{len(self._models)}]"
        model = self._values.call(path, _PRIVACY, _QUALITY)
        if is_quality:
            self._put(path, model)
        else:
            self._models.append(model)

    def _yaml(self) -> None:
        tokens, places = self._tokens, self._places
        offset = tokens.offset
        tokens.name(_IN_YAML)
        tokens.expect("=")
        text = tokens.string("$$ a policy's fields as YAML $$")
        try:
            document = parse_document(text, "yaml", "a policy's")
        except UnreadableError as error:
            tokens.refuse(
                offset, f"YAML with {error.fault.found}", error.fault.expected, "Its lines count from the $$."
            )
        for name, node in document.entries:
            places.note(name, offset)
            self._put(name, node)

    def _put(self, name: str, node: Node) -> None:
        """Adds a field; parts of one field may come from several clauses. Reading the fields refuses a repeated one."""
        for written, earlier in self._policy.entries:
            if written == name and isinstance(earlier, Mapping) and isinstance(node, Mapping):
                earlier.entries.extend(node.entries)
                return
        self._policy.entries.append((name, node))


def _named(tokens: StatementTokens, names: list[str], *fields: str) -> list[tuple[str, Node]]:
    """The names that were read last as the last of these fields."""
    if len(names) > len(fields):
        hint = "A release is written to its source's database or warehouse." if "catalog" not in fields else ""
        tokens.refuse_last(f"{len(names)} names with dots between them", f"at most {'.'.join(fields)}", hint)
    return list(zip(fields[-len(names) :], names, strict=True))


def invalid(faults: Sequence[Fault]) -> InvalidError:
    """The error for the faults of a statement."""
    return InvalidError.about("STATEMENT_INVALID", "the statement is invalid", faults)


_STATEMENTS: AnyMapping[str, Callable[[StatementTokens], ast.Statement]] = {
    "CREATE": _create_any,
    "EXPLAIN": _explain,
    "ALTER": _alter,
    "REFRESH": _refresh,
    "DROP": _drop,
    "PROMOTE": _promote,
    "APPROVE": partial(_decide, approved=True),
    "REJECT": partial(_decide, approved=False),
    "GRANT": partial(_grant, taken=False),
    "REVOKE": partial(_grant, taken=True),
    "SHOW": _show,
}


def split(script: str) -> tuple[list[str], str]:
    """The statements that semicolons end, and the rest behind the last one.

    Each begins with as many line ends, and blanks in its line, as there are before it: it has the places of the script.
    The rest is empty if it is only blanks and comments.

    Raises:
        InvalidError: the script ends inside of a quoted name, a text or a comment.
    """
    statements, begin, tokens = [], 0, tokenized(script)
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            statements.append(_placed(script, begin, token.start))
            begin = token.end + 1
    left = _placed(script, begin, len(script)) if tokens and tokens[-1].start >= begin else ""
    return [statement for statement in statements if statement.strip()], left


def _placed(script: str, begin: int, end: int) -> str:
    line = script.rfind("\n", 0, begin) + 1
    return "\n" * script.count("\n", 0, begin) + " " * (begin - line) + script[begin:end]

"""Counts the sensitive values of joint classes anew, from the source and the ledger's classes, and judges them."""

from dataclasses import replace

from tableveil.backend import Session
from tableveil.policy import NTCloseness, Policy, SensitiveModel
from tableveil.verification.owners import digest_of, secret_of
from tableveil.verification.text import quoted
from tableveil.verification.together import ROWS, classes_in
from tableveil.verification.values import Spreads, check_values
from tableveil.verification.written import Written


def check_joint_values(session: Session, policy: Policy, written: Written) -> list[str]:
    """The models of sensitive columns that do not hold of joint classes.

    The ledger's classes are those of the rows' labels. (n,t)-closeness is judged of classes of labels only: the
    supersets of a joint class have no earlier classes.
    """
    models = tuple(
        model
        for model in policy.privacy_models
        if isinstance(model, SensitiveModel) and not isinstance(model, NTCloseness)
    )
    if not written.together_with or not models:
        return []
    keys = _stage_rows(session, policy, written, list(dict.fromkeys(model.column for model in models)))
    names, positions = ", ".join(map(quoted, keys)), [f"q{i}" for i in range(len(keys))]
    session.stage(
        "joint_classes",
        "SELECT row_number() OVER () AS class, FALSE AS pool, * FROM ("
        f"SELECT {names}, count(*) FROM joint_rows GROUP BY ALL) AS counted({', '.join(positions)}, size)",
    )
    session.execute("CREATE TEMPORARY VIEW judged_classes AS FROM joint_classes")
    asked, rows = replace(policy, privacy_models=models), replace(written, rows=("temp", "main", "joint_rows"))
    problems = check_values(session, asked, Spreads(session, keys, "", rows), rows)
    session.execute("DROP VIEW temp.main.judged_classes")
    for made in ("joint_classes", "joint_rows"):
        session.execute(f"DROP TABLE temp.main.{made}")
    return [f"of joint classes, {problem}" for problem in problems]


def _stage_rows(session: Session, policy: Policy, written: Written, columns: list[str]) -> list[str]:
    """The released records of the source with their labels, earlier classes and values; returns the keys of classes."""
    labels, joins, condition = written.released_labels("p")
    # No sensitive column has these names.
    end = max((len(name) for name in columns), default=0) * "_"
    earlier = sorted(written.together_with)
    keys = [f"q{i}{end}" for i in range(len(labels) + len(earlier))]
    before = [quoted(key) for key in keys[len(labels) :]]
    shown = [f"{label.rpartition(' AS ')[0]} AS {quoted(key)}" for label, key in zip(labels, keys, strict=False)]
    values = [f"{written.shown(name, f'p.{quoted(name)}')} AS {quoted(name)}" for name in columns]
    record = policy.record_column
    digest = digest_of(record or policy.person_column or "", "p", 1)
    session.stage(
        "joint_rows",
        f"WITH before AS (SELECT digest, {classes_in(earlier, before)} FROM ({ROWS}) "
        "WHERE list_contains(?2::BIGINT[], release) GROUP BY digest) "
        f"SELECT {', '.join([*shown, *values, *(f'b.{name}' for name in before)])} "
        f"FROM {written.source_rows} AS p {joins} JOIN tableveil.release_persons AS k "
        f"ON k.release = ?3 AND k.class > 0 AND k.digest = {digest} "
        f"LEFT JOIN before AS b ON b.digest = k.digest WHERE {condition}",
        [secret_of(session, records=bool(record)), earlier, written.release],
    )
    return keys

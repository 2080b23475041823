"""The page of models and methods, from the protos, the registries, and the modules that implement the models."""

import inspect
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from google.protobuf.descriptor import Descriptor

from tableveil.policy.methods import METHODS, SEARCH_OPTIONS, Analysis, MethodTraits
from tableveil.policy.privacy import PRIVACY_FIELDS
from tableveil.policy.quality import FIELDS, PublisherPayoutModel
from tableveil.privacy.registry import RULES
from tableveil.quality import choose
from tableveil.report.words import AGAINST, PROMISES
from tableveil.v1 import policy_pb2
from tableveil.v1.comments import comments
from tests.reference.markdown import head, names, table

ROOT = Path(__file__).parents[2]

INTRODUCTION = """\
Each model stands in a policy under its name here. [policy.md](policy.md) helps to choose, and
[policy_fields.md](policy_fields.md) has the values that are refused. [models.md](../explanations/models.md) has the
reasons why a search may prune by these models.
"""


def page() -> Iterator[str]:
    """The table of methods, then the privacy models, then the quality models."""
    yield head(
        "Models and methods",
        "This page has every privacy model, every quality model and every method.",
        "the protos and the modules that implement the models",
    )
    yield INTRODUCTION
    yield "## Methods\n"
    yield "A policy has one method. It is refused if it asks for more than its method works with.\n"
    yield from _methods()
    yield "## Privacy models\n"
    for kind, field in PRIVACY_FIELDS.items():
        yield f"### {field}\n"
        if field not in PROMISES:
            raise SystemExit(f"{field} has no promise in PROMISES of service/tableveil/report/words.py")
        yield f"{re.sub('[{}]', '', PROMISES[field])}\n"
        against = [risk.lower() for risk, models in AGAINST.items() if field in models]
        yield from _described(policy_pb2.PrivacyModel.DESCRIPTOR, field)
        able = [method.name for method in reversed(METHODS) if kind in method.models]
        yield f"Methods: {', '.join(able)}." + (f" Protects against: {', '.join(against)}." if against else "") + "\n"
        if kind in RULES:
            yield from _implemented(_of_rule(RULES[kind]))
    yield "## Quality models\n"
    for quality, field in FIELDS.items():
        yield f"### {field}\n"
        yield from _described(policy_pb2.QualityModel.DESCRIPTOR, field)
        able = [method.name for method in reversed(METHODS) if quality in method.quality]
        yield f"Methods: {', '.join(able)}.\n"
        name = quality.__name__.removesuffix("Model")
        yield from _implemented(getattr(choose, name, None) or getattr(choose, f"{name}Quality"))


def _described(union: Descriptor, field: str) -> Iterator[str]:
    """The comment of a model's message, and its fields."""
    message = union.fields_by_name[field].message_type
    assert message is not None
    yield f"{comments()[message.full_name]}\n"
    if message.fields:
        rows = ([f"`{each.name}`", comments()[each.full_name]] for each in message.fields)
        yield from table(["field", "meaning"], rows)


def _of_rule(rule: Any) -> Any:
    """The class or function behind a member of the registry, which may be a lambda that calls it."""
    if rule.__name__ != "<lambda>":
        return rule
    return next(iter(inspect.getclosurevars(rule).globals.values()))


def _implemented(implementation: Any) -> Iterator[str]:
    """The docstring of the module of an implementation, with a link."""
    module = sys.modules[implementation.__module__]
    path = Path(inspect.getfile(module)).resolve().relative_to(ROOT).as_posix()
    first, *more = (" ".join(part.split()) for part in (module.__doc__ or "").split("\n\n"))
    yield f"Implemented in [{path.rpartition('/')[2]}](../../{path}): {first}\n"
    yield from (f"{part}\n" for part in more)


# --- methods --------------------------------------------------------------------------------------------------------


def _methods() -> Iterator[str]:
    columns = [list(_cells(method)) for method in reversed(METHODS)]
    rows = [[row[0][0], *(value for _, value in row)] for row in zip(*columns, strict=True)]
    yield from table(rows[0], rows[1:])


def _cells(method: MethodTraits[Any]) -> Iterator[tuple[str, str]]:
    yield "", method.name
    yield "asked for by", f"`{method.field}`" if method.field else method.called or "-"
    yield "one label for", str(method.recoded)
    yield "`privacy_models`", _listed(_fields(method.models, PRIVACY_FIELDS), PRIVACY_FIELDS.values())
    yield "`quality_model`", _listed(_fields(method.quality, FIELDS), FIELDS.values())
    yield "`search`", _listed(method.search, SEARCH_OPTIONS)
    yield "not beside", names(part for part, _ in method.refuses)
    facts = {
        "suppressed records shown (`KEEP`)": method.shows_suppressed,
        "several records of a person": method.people,
        "`left_behind`": method.together,
        "a valid release before its end (`--keep-best`)": method.interim,
        "over Spark": method.warehouses,
        "payout sweeps": PublisherPayoutModel in method.quality,
    }
    yield from ((fact, "yes" if holds else "no") for fact, holds in facts.items())
    yield from ((analysis, "yes" if analysis in method.analyses else "no") for analysis in Analysis)


def _fields(kinds: Iterable[Any], fields: Mapping[Any, str]) -> list[str]:
    return [fields[kind] for kind in kinds]


def _listed(have: Collection[str], every: Collection[str]) -> str:
    others = [name for name in every if name not in have]
    if have and len(others) <= len(have) / 2:
        return f"all but {_listed(others, every)}" if others else "all"
    return names(have, "none")

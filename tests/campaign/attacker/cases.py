"""Random tables with random policies: every method, model, role, type and NULL handling that a policy may have."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random

from tests.campaign.attacker.columns import (
    POOLS,
    Document,
    Ladders,
    QuasiIdentifier,
    Text,
    quasi_identifier,
    quoted,
    safe_harbor_age,
    tree,
)
from tests.campaign.attacker.local_policies import CLASS_LOCAL, limited, local_policy

TAG = "tag"
"""Released with the rows, it identifies each row's record: every record has another number."""

MARKER = "suppressed"

DIAGNOSES = ("flu", "cold", "gout", "rash", "burn")


class Method(StrEnum):
    """How the release is made."""

    FULL_DOMAIN = "full domain"
    RECORD_LEVEL = "record level"
    MICROAGGREGATION = "microaggregation"
    MIXED = "mixed"
    LOCAL_RECODING = "local recoding"


METHODS = (
    *[Method.FULL_DOMAIN] * 4,
    *[Method.LOCAL_RECODING] * 2,
    Method.RECORD_LEVEL,
    Method.MICROAGGREGATION,
    Method.MIXED,
)


@dataclass(frozen=True, slots=True)
class AggregatedColumn:
    """A quasi-identifier that is aggregated: `ladders` of a nominal one, `order` of an ordinal one."""

    name: str
    type: str
    values: Sequence[str]
    document: Document
    ladders: Ladders
    order: Sequence[str]


@dataclass(frozen=True, slots=True)
class SensitiveColumn:
    """A column that models protect; `order` has its values from least to greatest, `ladders` their groups."""

    name: str
    type: str
    values: Sequence[str]
    weights: Sequence[int]
    order: Sequence[str]
    ladders: Ladders

    @property
    def document(self) -> Document:
        """Its entry in the policy."""
        levels = {"inline": {"rows": [list(row) for row in self.ladders.values()]}}
        order: Document = {"nulls": "LAST"}
        if self.type == "VARCHAR":
            order["values"] = list(self.order)
        return {"column": self.name, "role": "SENSITIVE", "order": order, "hierarchy": levels}


@dataclass(frozen=True, slots=True)
class Case:
    """A table, as texts, and a policy for it.

    `released` are the columns that are neither quasi-identifiers nor identifying. `people` are the population's rows,
    None without any.
    """

    seed: int
    method: Method
    quasi_identifiers: tuple[QuasiIdentifier, ...]
    aggregated: tuple[AggregatedColumn, ...]
    sensitive: tuple[SensitiveColumn, ...]
    released: tuple[str, ...]
    rows: tuple[dict[str, Text], ...]
    people: tuple[dict[str, Text], ...] | None
    types: dict[str, str]
    policy: Document

    @property
    def statements(self) -> list[str]:
        """SQL that makes the tables."""
        made = [statement for column in self.quasi_identifiers for statement in column.tables]
        made += table("people", self.rows, self.types)
        if self.people is not None:
            made += table("everyone", self.people, {c.name: self.types[c.name] for c in self.quasi_identifiers})
        return made

    @property
    def withheld(self) -> set[int]:
        """The records that are suppressed at every transformation."""
        columns = [a["column"] for a in self.policy["attributes"] if a.get("nulls") == "SUPPRESS"]
        return {i for i, row in enumerate(self.rows) if any(row[column] is None for column in columns)}


def table(name: str, rows: Sequence[dict[str, Text]], types: dict[str, str]) -> list[str]:
    """SQL that makes a table from texts that are cast to the types."""
    columns = ", ".join(f"CAST({column} AS {type_}) AS {column}" for column, type_ in types.items())
    listed = ", ".join(
        f"({', '.join('NULL' if row[c] is None else quoted(row[c] or '') for c in types)})" for row in rows
    )
    return [f"CREATE OR REPLACE TABLE {name} AS SELECT {columns} FROM (VALUES {listed}) AS given({', '.join(types)})"]


def case(seed: int, target: str = "released") -> Case:
    """A case; equal seeds give equal cases."""
    return _Drawing(seed, target).case()


AnyColumn = QuasiIdentifier | AggregatedColumn | SensitiveColumn


class _Drawing:
    """One case while it is drawn."""

    def __init__(self, seed: int, target: str) -> None:
        self.seed = seed
        self.random = random = Random(seed)
        self.method = random.choice(METHODS)
        self.records = random.choice([random.randint(1, 9), 20, 30, 60, 60, 120, 200])
        mixed, all_aggregated = self.method is Method.MIXED, self.method is Method.MICROAGGREGATION
        number = 0 if all_aggregated else random.randint(1, 2 if mixed else 3)
        counted = self.method is Method.RECORD_LEVEL or random.random() < 0.5
        self.quasi = [quasi_identifier(random, f"q{j}", counted=counted) for j in range(number)]
        self.local = self.method is Method.LOCAL_RECODING
        self.harbor = not mixed and not self.local and number > 0 and random.random() < 0.15
        if self.harbor:
            self.quasi[0] = safe_harbor_age(random, "q0")
        number = random.randint(1, 3) if all_aggregated else random.randint(1, 2) if mixed else 0
        self.aggregated = [_aggregated(random, f"a{j}") for j in range(number)]
        self.sensitive = [_sensitive(random, f"s{j}") for j in range(random.randint(0, 2))]
        self.target = target

    def case(self) -> Case:
        random = self.random
        columns: list[AnyColumn] = [*self.quasi, *self.aggregated, *self.sensitive]
        types = {TAG: "INTEGER", **{column.name: column.type for column in columns}}
        roles: dict[str, str] = {}
        for j in range(random.randint(0, 2)):
            types[f"i{j}"] = random.choice(list(POOLS))
            roles[f"i{j}"] = random.choice(["drawn", "copy", "acknowledged"])
        tagged = self.method in (Method.RECORD_LEVEL, Method.MICROAGGREGATION) or random.random() < 0.3
        nulls = self._nulls()
        rows = self._rows(types, roles, nulls)
        people = self._people(rows, nulls)
        policy = self._policy(nulls, roles, tagged, people)
        released = [*([TAG] if tagged else []), *(c.name for c in self.sensitive), *roles]
        return Case(
            self.seed,
            self.method,
            tuple(self.quasi),
            tuple(self.aggregated),
            tuple(self.sensitive),
            tuple(released),
            tuple(rows),
            people,
            types,
            policy,
        )

    # --- the table --------------------------------------------------------------------------------------------------

    def _nulls(self) -> dict[str, str]:
        """The NULL handling by quasi-identifier, for those that may have NULLs."""
        found = {}
        for column in self.quasi:
            if self.random.random() < 0.3:
                found[column.name] = self.random.choice(["VALUE", "SUPPRESS"])
        for aggregated in self.aggregated:
            if self.random.random() < 0.3:
                found[aggregated.name] = "SUPPRESS"
        return found

    def _rows(self, types: dict[str, str], roles: dict[str, str], nulls: dict[str, str]) -> list[dict[str, Text]]:
        random = self.random
        few = {c.name: random.choices(list(c.ladders), k=random.randint(1, 6)) for c in self.quasi}
        few |= {c.name: random.choices(c.values, k=random.randint(1, 40)) for c in self.aggregated}
        with_null = {c.name for c in self.sensitive if random.random() < 0.3}
        rows = []
        for i in range(self.records):
            row: dict[str, Text] = {TAG: str(i)}
            for name, values in few.items():
                # The first are more frequent.
                value = values[min(int(random.expovariate(0.6)), len(values) - 1)]
                row[name] = None if name in nulls and random.random() < 0.05 else value
            for column in self.sensitive:
                drawn = random.choices(column.values, column.weights)[0]
                row[column.name] = None if column.name in with_null and random.random() < 0.2 else drawn
            for name, role in roles.items():
                row[name] = None if random.random() < 0.1 else self._insensitive(types[name], role, row)
            rows.append(row)
        return rows

    def _insensitive(self, type_: str, role: str, row: dict[str, Text]) -> str:
        values = POOLS[type_]
        if role == "copy" and self.random.random() < 0.95 and self.quasi:
            # It goes along with a quasi-identifier, more or less.
            return values[hash_of(row[self.quasi[0].name]) % len(values)]
        return self.random.choice(values)

    def _people(self, rows: list[dict[str, Text]], nulls: dict[str, str]) -> tuple[dict[str, Text], ...] | None:
        """All people of the source plus others, if the case has a population."""
        if self.method in (Method.MICROAGGREGATION, Method.MIXED) or "SUPPRESS" in nulls.values():
            return None
        if self.random.random() < 0.5:
            return None
        names = [column.name for column in self.quasi]
        others = [{name: self.random.choice(rows)[name] for name in names} for _ in range(2 * len(rows))]
        return tuple([{name: row[name] for name in names} for row in rows] + others)

    # --- the policy -------------------------------------------------------------------------------------------------

    def _policy(
        self, nulls: dict[str, str], roles: dict[str, str], tagged: bool, people: tuple[dict[str, Text], ...] | None
    ) -> Document:
        random = self.random
        attributes: list[Document] = [
            {"column": TAG, "role": "INSENSITIVE", "acknowledged": True}
            if tagged
            else {"column": TAG, "role": "IDENTIFYING"}
        ]
        for column in self.quasi:
            attribute = {"column": column.name, "role": "QUASI_IDENTIFIER", "hierarchy": column.hierarchy}
            attributes.append(attribute | (limited(random, column) if self.local else {}))
        attributes += [{"column": c.name, "role": "QUASI_IDENTIFIER", **c.document} for c in self.aggregated]
        for attribute in attributes:
            if attribute["column"] in nulls:
                attribute["nulls"] = nulls[attribute["column"]]
        attributes += [column.document for column in self.sensitive]
        for name, role in roles.items():
            attributes.append({"column": name, "role": "INSENSITIVE", "acknowledged": role == "acknowledged"})
        policy: Document = {
            "source": {"table": "people"},
            "attributes": attributes,
            "suppression_limit": random.choice(["0", "0.05", "0.2", "0.5", "1"]),
            "release": {"name": self.target, "label_columns": False, "kind": random.choice(["TABLE", "VIEW"])},
            "repeat_reason": f"case {self.seed}",
        }
        identified = not tagged and random.random() < 0.5
        policy |= {"person_column": TAG} if identified else {"rows_are_people": True}
        if random.random() < 0.15:
            del policy["source"]
            policy["source_query"] = "SELECT * FROM people"
        if people is not None:
            policy["population"] = {"table": {"table": "everyone"}}
        shown = ["KEEP"] if self.method is Method.FULL_DOMAIN else []
        handling = random.choice(["DROP", "BLANK", *shown])
        if handling != "DROP":
            policy["suppressed_records"] = {"handling": handling, "marker_column": MARKER}
        self._ask(policy, people is not None)
        return policy

    def _ask(self, policy: Document, peopled: bool) -> None:
        """Adds privacy models, a quality model, a search, and the fields that they need."""
        random = self.random
        match self.method:
            case Method.RECORD_LEVEL:
                policy["record_level"] = random.choice([{}, {"adversary_knows_method": True}])
                policy["quality_model"] = {"publisher_payout": {"success": "JOURNALIST"}}
                models: list[Document] = random.sample(
                    [{"profitability": {"success": "JOURNALIST"}}, {"no_attack": {"success": "JOURNALIST"}}],
                    random.randint(1, 2),
                )
            case Method.LOCAL_RECODING:
                models = [*self._sizes(policy, peopled), *self._values(clusters=False)]
                models = models or [{"k_anonymity": {"k": random.randint(2, 5)}}]
                policy |= local_policy(random, self.quasi, models)
            case Method.MICROAGGREGATION:
                policy["microaggregation"] = {
                    "clustering": random.choice(["AUTO", "MDAV", "V_MDAV", "PARTITION"]),
                    "closeness": random.choice(["MERGE", "K_ANONYMITY_FIRST", "T_CLOSENESS_FIRST"]),
                }
                models = [{"k_anonymity": {"k": random.randint(2, 6)}}, *self._values(clusters=True)]
            case _:
                models = [*self._sizes(policy, peopled), *self._values(clusters=False)]
                if models in ([], [{"inclusion": {}}]):
                    models.append({"k_anonymity": {"k": random.randint(2, 5)}})
                policy["quality_model"] = self._quality(peopled)
                policy["search"] = {"strategy": random.choice(["AUTO", "EXACT", "BEST_FIRST", "ANYTIME"])}
                # Inclusion is not chosen by.
                choosing = [model for model in models if "inclusion" not in model]
                looking = {"column" in parameters for model in choosing for parameters in model.values()}
                blind = "classification" not in policy["quality_model"]
                if blind and looking == {False, True} and random.random() < 0.3:
                    policy["search"]["choose"] = "QUASI_IDENTIFIERS_ONLY"
        if self.harbor:
            models.append({"safe_harbor": {}})
        policy["privacy_models"] = models
        if any({"profitability", "no_attack"} & model.keys() for model in models) or "publisher_payout" in policy.get(
            "quality_model", {}
        ):
            gain = random.choice([10, 50, 300])
            policy["game"] = {
                "publisher_benefit": str(random.choice([5, 40, 300])),
                "publisher_loss": str(random.choice([0, 30, 300])),
                "adversary_gain": str(gain),
                "adversary_cost": str(random.choice([1, 3, 9])),
            }

    def _sizes(self, policy: Document, peopled: bool) -> list[Document]:
        """Models that look at quasi-identifiers only."""
        random = self.random
        models: list[Document] = [{"k_anonymity": {"k": random.randint(2, 6)}}] if random.random() < 0.7 else []
        success = random.choice(["PROSECUTOR", "JOURNALIST", "MARKETER"])
        others: list[Document] = [
            {"average_risk": {"threshold": random.choice(["0.1", "0.3", "0.5"])}},
            {"sample_uniqueness": {"threshold": random.choice(["0", "0.05", "0.3"])}},
            {"no_attack": {"success": success}},
        ]
        if not self.aggregated and not any(column.measured for column in self.quasi):
            break_even = random.choice(["KEEP", "SUPPRESS"])
            others.append({"profitability": {"success": success, "break_even": break_even}})
        if peopled:
            others += [
                {"k_map": {"k": random.randint(2, 9)}},
                {"delta_presence": {"minimum": random.choice(["0", "0.1"]), "maximum": random.choice(["0.5", "0.9"])}},
                {"inclusion": {}},
            ]
        elif random.random() < 0.5:
            policy["population"] = {"size": self.records * random.randint(1, 20)}
            estimators = ["POISSON", "ZERO_TRUNCATED_POISSON"]
            others += [
                {"estimated_k_map": {"k": random.randint(2, 6), "estimator": random.choice(estimators)}},
                {"population_uniqueness": {"threshold": random.choice(["0", "0.05", "0.3"]), "estimator": "ZAYATZ"}},
            ]
        others = [other for other in others if not self.local or other.keys() & CLASS_LOCAL]
        return models + random.sample(others, min(random.choice([0, 0, 1, 2]), len(others)))

    def _values(self, *, clusters: bool) -> list[Document]:
        """Models of sensitive columns."""
        random = self.random
        models: list[Document] = []
        for column in self.sensitive:
            distance = random.choice(["EQUAL", "ORDERED", "HIERARCHICAL"])
            estimator = "SHANNON" if clusters else random.choice(["SHANNON", "GRASSBERGER"])
            absent = "REJECT" if clusters else random.choice(["REJECT", "IGNORE"])
            possible: list[tuple[str, Document]] = [
                ("distinct_l_diversity", {"l": random.randint(2, 4)}),
                ("probabilistic_l_diversity", {"l": random.choice(["1.5", "2", "2.5"])}),
                ("entropy_l_diversity", {"l": random.choice(["1.5", "2", "3"]), "estimator": estimator}),
                ("recursive_cl_diversity", {"c": random.choice(["0.5", "2", "3"]), "l": random.randint(2, 3)}),
                ("t_closeness", {"t": random.choice(["0.1", "0.2", "0.4"]), "distance": distance}),
                ("delta_disclosure", {"delta": random.choice(["0.7", "1", "2"]), "absent_values": absent}),
                ("beta_likeness", {"beta": random.choice(["0.5", "1", "3"]), "enhanced": random.random() < 0.5}),
            ]
            if not clusters and not self.local:
                n = random.choice([2, self.records // 2 + 2, self.records + 2])
                possible.append(("n_t_closeness", {"n": n, "t": random.choice(["0.1", "0.3"]), "distance": distance}))
            for name, parameters in random.sample(possible, random.choice([0, 1, 1, 2])):
                models.append({name: {"column": column.name, **parameters}})
        return models

    def _quality(self, peopled: bool) -> Document:
        random = self.random
        kinds = ["loss", "loss", "entropy", "precision", "height", "discernibility", "average_class_size"]
        if not any(column.measured for column in self.quasi):
            kinds += ["ambiguity", "kl_divergence", *([] if self.aggregated else ["publisher_payout"])]
        kind = random.choice([*kinds, *(["classification"] if self.sensitive else [])])
        if kind == "classification":
            return {kind: {"classes": [self.sensitive[0].name]}}
        if kind in ("loss", "entropy", "precision"):
            aggregates = ["GEOMETRIC_MEAN", "ARITHMETIC_MEAN", "SUM", "MAXIMUM", "RANK"]
            return {kind: {"aggregate": random.choice(aggregates), "factor": random.choice([0.2, 0.5, 0.9])}}
        return {kind: {}}


def hash_of(text: Text) -> int:
    """A number that is equal in every process."""
    return sum((text or "").encode())


def _sensitive(random: Random, name: str) -> SensitiveColumn:
    weights = [random.choice([1, 1, 2, 5]) for _ in DIAGNOSES]
    if random.random() < 0.3:
        numbers = [str(number) for number in random.sample(range(-5, 30), len(DIAGNOSES))]
        return SensitiveColumn(name, "INTEGER", numbers, weights, sorted(numbers, key=int), tree(random, numbers))
    order = random.sample(DIAGNOSES, len(DIAGNOSES))
    return SensitiveColumn(name, "VARCHAR", DIAGNOSES, weights, order, tree(random, DIAGNOSES))


def _aggregated(random: Random, name: str) -> AggregatedColumn:
    scale = random.choice(["NUMERIC", "NUMERIC", "ORDINAL", "NOMINAL"])
    if scale == "ORDINAL":
        order = random.sample(list("PQRSTU"), 6)
        document: Document = {"order": {"values": order}}
        return AggregatedColumn(
            name, "VARCHAR", order, document | aggregation(scale, random.choice(["MEDIAN", "MODE"])), {}, order
        )
    if scale == "NOMINAL":
        ladders = tree(random, list("PQRSTU"))
        document = {"hierarchy": {"inline": {"rows": [list(row) for row in ladders.values()]}}}
        function = random.choice(["MODE", "COMMON_LABEL"])
        return AggregatedColumn(name, "VARCHAR", "PQRSTU", document | aggregation(scale, function), ladders, "PQRSTU")
    function = random.choice(["MEAN", "MEDIAN", "MODE", "GEOMETRIC_MEAN", "INTERVAL"])
    if function not in ("INTERVAL", "GEOMETRIC_MEAN") and random.random() < 0.4:
        days = [(datetime.date(2020, 1, 1) + datetime.timedelta(random.randrange(900))).isoformat() for _ in range(40)]
        return AggregatedColumn(name, "DATE", days, aggregation(scale, function), {}, ())
    if function != "INTERVAL" and random.random() < 0.5:
        floats = [repr(round(random.uniform(0.5, 90), 2)) for _ in range(40)]
        return AggregatedColumn(name, "DOUBLE", floats, aggregation(scale, function), {}, ())
    wholes = [str(random.randint(1, 99)) for _ in range(40)]
    grid = {"grid": str(random.choice([2, 5, 10]))} if function == "INTERVAL" else {}
    return AggregatedColumn(name, "INTEGER", wholes, aggregation(scale, function, **grid), {}, ())


def aggregation(scale: str, function: str, **options: str) -> Document:
    """An attribute's entry."""
    return {"aggregation": {"scale": scale, "function": function, **options}}

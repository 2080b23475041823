"""A fixed set of releases, and every page that there is of them: made on one server, in the order of the file names."""

import json
import os
from collections.abc import Callable
from pathlib import Path

from tests.campaign.served import serving
from tests.e2e import samples
from tests.e2e.commands import tableveil
from tests.e2e.samples import Document, attribute

NAMES = ("a\"b'<c>&d", "Größe 😀", "שם מלא", "n" * 80, "a\u202eb")
"""Quotes and markup, an emoji, right-to-left text, a name without a space, and one that would turn the text around."""

_LOSS = {"loss": {"aggregate": "ARITHMETIC_MEAN"}}

_VALUES = (
    "20 + i % 40",
    "['😀 glad', 'זמן טוב', '=1+1', '</td><script>'][1 + i % 4]",
    "lpad((i % 30)::VARCHAR, 5, '0')",
    "['x', 'y'][1 + i % 2]",
    "'value ' || i % 7",
)


def _named() -> str:
    columns = (value + ' AS "' + name.replace('"', '""') + '"' for name, value in zip(NAMES, _VALUES, strict=True))
    return f"SELECT i AS id, {', '.join(columns)} FROM range(200) AS numbers(i)"


_AGES = {"intervals": {"minimum": "0", "maximum": "99", "widths": ["5", "10", "50"]}}
_ZIPS = {"redaction": {"length": 5, "alphabet_size": 10}}


def _named_policy() -> Document:
    age, mood, place, letter, value = NAMES
    return samples.policy(
        "named",
        "names",
        attributes=[
            attribute("id", "IDENTIFYING"),
            attribute(age, "QUASI_IDENTIFIER", hierarchy=_AGES),
            attribute(mood, "QUASI_IDENTIFIER", hierarchy={"suppression_only": {}}),
            attribute(place, "QUASI_IDENTIFIER", hierarchy=_ZIPS),
            attribute(letter, "SENSITIVE"),
            attribute(value, "INSENSITIVE", acknowledged=True),
        ],
    )


def _wide_policy() -> Document:
    """Sixty columns, of which six are quasi-identifiers."""
    kept = [attribute(f"q{j}", "INSENSITIVE", acknowledged=True) for j in range(6, 60)]
    hidden = [attribute(f"q{j}", "QUASI_IDENTIFIER", hierarchy={"suppression_only": {}}) for j in range(6)]
    return samples.policy("sixty", "sixty_released", attributes=[attribute("id", "IDENTIFYING"), *hidden, *kept])


def _aggregated_policy() -> Document:
    return samples.policy(
        "aggregated",
        "means",
        attributes=[
            attribute("id", "IDENTIFYING"),
            attribute("name", "IDENTIFYING"),
            attribute("age", "QUASI_IDENTIFIER", aggregation={"function": "INTERVAL", "grid": "5"}),
            attribute(
                "zip", "QUASI_IDENTIFIER", hierarchy=_ZIPS, aggregation={"scale": "NOMINAL", "function": "COMMON_LABEL"}
            ),
            attribute("sex", "INSENSITIVE", acknowledged=True),
            attribute("diagnosis", "SENSITIVE"),
            attribute("ward", "INSENSITIVE", acknowledged=True),
        ],
        microaggregation={},
    )


# An empty table is refused: no release is empty but for suppression.
RELEASES: dict[str, Callable[[], Document]] = {
    "small": lambda: samples.policy("people", "small"),
    "stricter": lambda: samples.policy(
        "people", privacy_models=[{"k_anonymity": {"k": 20}}], release={"name": "small", "if_exists": "REPLACE"}
    ),
    "sixty": _wide_policy,
    "local": lambda: samples.policy("recoded", "local", quality_model=_LOSS, local_recoding={}),
    "means": _aggregated_policy,
    "suppressed": lambda: samples.policy(
        "few", "suppressed", privacy_models=[{"k_anonymity": {"k": 200}}], suppression_limit="1"
    ),
    "names": _named_policy,
}


def make_pages(folder: Path) -> list[Path]:
    """Every page of every release, as files in the folder."""
    database = folder / "pages.duckdb"
    samples.create(
        database,
        people=samples.PEOPLE,
        recoded=samples.PEOPLE,
        aggregated=samples.PEOPLE,
        few=f"SELECT * FROM ({samples.PEOPLE}) WHERE id < 100",
        everybody=f"SELECT p.* REPLACE (id + {samples.ROWS} * i AS id) FROM ({samples.PEOPLE}) AS p, range(3) AS c(i)",
        sixty=samples.wide(60),
        named=_named(),
    )
    with serving(database) as server:
        os.environ["TABLEVEIL_TOKEN_FILE"] = str(server.token_file)

        def run(*arguments: str) -> None:
            outcome = tableveil(*arguments, server=server.address)
            assert outcome.exit_code == 0, (arguments, outcome.stderr)

        for number, (name, document) in enumerate(RELEASES.items(), start=1):
            policy = folder / f"{name}.json"
            policy.write_text(json.dumps({**document(), "repeat_reason": "All of them show the same people."}))
            run("submit", str(policy), "--wait")
            run("utility", str(number), "--html", str(folder / f"{name}-utility.html"))
            for edition in ("owner", "public"):
                page = folder / f"{name}-{edition}.html"
                run("report", str(number), "--output", str(page), "--audience", edition)
        run("report", "1", "--output", str(folder / "small-owner.pdf"))
        run("classify", "2", "--class", "diagnosis", "--html", str(folder / "small-classes.html"))
        run("compare", "1", "2", "--html", str(folder / "small-compared.html"))
        game = samples.policy(
            privacy_models=[{"profitability": {"success": "JOURNALIST"}}],
            game={"publisher_benefit": "100", "adversary_cost": "4"},
            population={"table": {"table": "everybody"}},
        )
        del game["release"]
        policy.write_text(json.dumps(game))
        run("sweep", str(policy), "--gains", "0..300/30", "--chart", str(folder / "small-payouts.html"))
        server.stop()
    return sorted(folder.glob("*.html"))

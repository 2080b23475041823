"""Shows that public objects reveal only the number of suppressed records."""

import pyarrow as pa
import pytest

from tableveil.v1 import policy_pb2
from tests.adversary import samples
from tests.adversary.publishing import Publish, PublishEach, Published, changed
from tests.once import once

DROP = {"handling": "DROP"}


def together(table: pa.Table) -> pa.Table:
    """Both outliers in one class."""
    cities = table["city"].to_pylist()
    rare = [city for city, region in samples.cities() if region == "rare"]
    return table.set_column(4, "city", pa.array([rare[0] if city in rare else city for city in cities]))


def unknown(table: pa.Table) -> pa.Table:
    """Outliers whose city is missing, so that the policy withholds them whatever their class."""
    cities = table["city"].to_pylist()
    rare = {city for city, region in samples.cities() if region == "rare"}
    return table.set_column(4, "city", pa.array([None if city in rare else city for city in cities]))


# The suppressed records: other people with other diagnoses, in other classes, for other reasons.
OUTLIERS = {
    "men": samples.patients(outlier_sex="M"),
    "women": samples.patients(outlier_sex="F"),
    "a sex of their own": samples.patients(outlier_sex="X"),
    "of one city": together(samples.patients()),
    "of no known city": unknown(samples.patients()),
}


@pytest.mark.parametrize("form", once(samples.FORMS))
@pytest.mark.parametrize("names", once([("women", "of no known city"), ("a sex of their own", "of one city")]))
def test_who_was_suppressed_changes_no_byte(publish_each: PublishEach, form: str, names: tuple[str, ...]) -> None:
    document = changed(samples.policy(), **samples.FORMS[form])
    document["attributes"][4]["nulls"] = "SUPPRESS"
    sources = [(OUTLIERS[name], document) for name in ("men", *names)]
    # Files are made of the streams, in one way for all forms.
    first, *others = publish_each(sources, export=form == next(iter(samples.FORMS)))
    assert first.suppressed == 2
    for who, other in zip(names, others, strict=True):
        assert about(other) == about(first), who
        for kind in other.streams.keys() - {"ABOUT"}:
            assert other.streams[kind] == first.streams[kind], who
            if first.exports:
                assert other.parquet_files[kind].read_bytes() == first.parquet_files[kind].read_bytes(), who


def about(published: Published) -> list[tuple[str, str]]:
    """The table of facts, but for the release's own number."""
    number = published.release.name.removeprefix("releases/")
    rows = [(row["fact"], row["value"]) for row in published.objects["ABOUT"].to_pylist()]
    rows.remove(("release", number))
    return [(fact, value.replace(f"release {number} ", "")) for fact, value in rows]


@pytest.fixture(params=once(["BLANK", "DROP"]), scope="module")
def one_and_two(request: pytest.FixtureRequest, publish_each: PublishEach) -> tuple[Published, Published]:
    """Releases of the same table with one outlier and with two, which are dropped or kept as blank rows."""
    document = changed(samples.policy(), suppressed_records=samples.BLANK if request.param == "BLANK" else DROP)
    one, two = publish_each([(samples.patients(outliers=number), document) for number in (1, 2)], export=False)
    return one, two


def test_only_their_number_is_public(one_and_two: tuple[Published, Published]) -> None:
    """One more suppressed record changes one figure, and adds one blank row if suppressed rows are kept."""
    one, two = one_and_two
    assert (one.suppressed, two.suppressed) == (1, 2)
    assert one.streams["CLASSES"] == two.streams["CLASSES"]
    assert one.streams["RISK_HISTOGRAM"] == two.streams["RISK_HISTOGRAM"]
    assert differing(one.objects["RISK"], two.objects["RISK"]) == ["suppressed_records"]
    more = two.rows.num_rows - one.rows.num_rows
    assert more == ("suppressed" in two.rows.column_names)
    assert two.rows.slice(0, one.rows.num_rows).equals(one.rows)


def differing(one: pa.Table, two: pa.Table) -> list[str]:
    pairs = zip(one.to_pylist(), two.to_pylist(), strict=True)
    return [left["measure"] for left, right in pairs if left != right]


def test_blank_rows_are_all_alike(one_and_two: tuple[Published, Published]) -> None:
    _, published = one_and_two
    if published.release.policy.suppressed_records.handling == policy_pb2.SUPPRESSED_RECORDS_HANDLING_BLANK:
        blank = [row for row in published.rows.to_pylist() if row["suppressed"]]
        assert len(blank) == published.suppressed == 2
        for row in blank:
            assert {name for name, value in row.items() if value is not None} == {"suppressed"}
    else:
        assert published.rows.num_rows == 60


def test_no_class_of_theirs_is_listed(one_and_two: tuple[Published, Published]) -> None:
    _, published = one_and_two
    classes = published.objects["CLASSES"].to_pylist()
    assert {row["city"] for row in classes} == {"north", "south"}
    assert sum(row["class_size"] for row in classes) == 60
    assert "rare" not in published.rows["city"].to_pylist()


def test_released_rows_that_say_nothing_are_not_taken_for_suppressed_ones(publish: Publish) -> None:
    """People of whom nothing is known make a class like any other."""
    places = [None] * samples.K + ["a"] * samples.K + ["b"]
    table = pa.table({"id": [str(i) for i in range(len(places))], "place": places, "illness": [None] * len(places)})
    table = table.set_column(2, "illness", pa.array([None] * len(places), pa.string()))
    document = changed(
        samples.policy(),
        attributes=[
            samples.attribute("id", "IDENTIFYING"),
            samples.attribute("place", "QUASI_IDENTIFIER", hierarchy={"suppression_only": {}}, maximum_level=0),
            samples.attribute("illness", "SENSITIVE"),
        ],
        suppression_limit="0.2",
        suppressed_records=samples.BLANK,
    )
    published = publish(table, document, export=False)
    rows = [(row["place"], row["illness"], row["suppressed"]) for row in published.rows.to_pylist()]
    assert sorted(rows, key=str) == sorted(
        [(None, None, False)] * samples.K + [("a", None, False)] * samples.K + [(None, None, True)], key=str
    )
    assert {(row["place"], row["class_size"]) for row in published.objects["CLASSES"].to_pylist()} == {
        (None, samples.K),
        ("a", samples.K),
    }

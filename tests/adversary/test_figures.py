"""Recomputes every public figure from the released rows and the number of suppressed records alone."""

from collections import Counter
from fractions import Fraction

import pytest

from tableveil.v1 import release_service_pb2
from tests.adversary import samples
from tests.adversary.publishing import Document, Publish, Published, changed
from tests.once import once

QUASI_IDENTIFIERS = ("age", "sex", "city")
THRESHOLDS = ["0.05", "0.0625", "0.1", "0.2", "0.33", "0.333333333333333333333333"]

Class = tuple[object, ...]


def policies() -> dict[str, Document]:
    free = samples.policy()
    for attribute in free["attributes"]:
        attribute.pop("maximum_level", None)
        attribute.pop("minimum_level", None)
    none_large_enough = [{"k_anonymity": {"k": 50}}]
    everything_suppressed = changed(samples.policy(), privacy_models=none_large_enough, suppression_limit="1")
    return {
        "any levels": changed(free, suppressed_records=samples.BLANK),
        "everything suppressed": everything_suppressed,
        "as a table": samples.policy(),
        "as a view": changed(samples.policy(), release=samples.VIEW),
        "blank rows": changed(samples.policy(), suppressed_records=samples.BLANK),
        "nothing suppressed": changed(free, suppression_limit="0"),
        "everything blank": changed(everything_suppressed, suppressed_records=samples.BLANK),
    }


@pytest.fixture(params=once(policies(), 2), scope="module")
def published(request: pytest.FixtureRequest, publish: Publish) -> Published:
    document = changed(policies()[request.param], risk_thresholds=THRESHOLDS)
    return publish(samples.patients(kept=97), document, export=False)


def classes_of(published: Published) -> Counter[Class]:
    """Sizes of the classes of released rows."""
    return Counter(
        tuple(row[name] for name in QUASI_IDENTIFIERS)
        for row in published.rows.to_pylist()
        if not row.get("suppressed", False)
    )


def test_every_figure(published: Published) -> None:
    sizes = classes_of(published)
    objects = {kind: table.to_pylist() for kind, table in published.objects.items()}

    # All diagnoses are different.
    assert objects["CLASSES"] == [
        {
            **dict(zip(QUASI_IDENTIFIERS, labels, strict=True)),
            "class_size": size,
            "risk": 1 / size,
            "distinct_l_diagnosis": size,
            "entropy_l_diagnosis": size,
            "class_id": number,
        }
        for number, (labels, size) in enumerate(
            sorted(sizes.items(), key=lambda item: tuple((v is None, v) for v in item[0])), start=1
        )
    ]
    assert objects["RISK_HISTOGRAM"] == [
        {"class_size": size, "classes": number, "records": size * number, "risk": 1 / size}
        for size, number in sorted(Counter(sizes.values()).items())
    ]
    measures = {(row["measure"], row["threshold"]): row["value"] for row in objects["RISK"]}
    records = sum(sizes.values())
    assert measures == pytest.approx(
        {
            ("records", None): records,
            ("classes", None): len(sizes),
            ("highest_risk", None): 1 / min(sizes.values(), default=1) if sizes else 0,
            ("average_risk", None): len(sizes) / records if records else 0,
            ("lowest_risk", None): 1 / max(sizes.values()) if sizes else 0,
            ("unique_records", None): sum(size == 1 for size in sizes.values()),
            ("suppressed_records", None): 99 - records,
            **{
                ("records_above_threshold", text): sum(
                    size for size in sizes.values() if Fraction(1, size) > Fraction(text)
                )
                for text in THRESHOLDS
            },
        },
        rel=1e-12,
    )
    blank = sum(bool(row.get("suppressed")) for row in published.rows.to_pylist())
    assert blank == (published.suppressed if "suppressed" in published.rows.column_names else 0)


def test_it_keeps_its_promise(published: Published) -> None:
    k = published.release.policy.privacy_models[0].k_anonymity.k
    assert all(size >= k for size in classes_of(published).values())
    assert published.suppressed <= Fraction(published.release.policy.suppression_limit) * 99


def test_what_the_owner_is_told_of_the_release_is_the_same(published: Published) -> None:
    """The owner's account repeats the public figures, so that both speak of one release."""
    sizes, release = classes_of(published), published.release
    assert (release.records, release.suppressed_records) == (99, published.suppressed)
    assert (release.classes, release.risk_after.classes) == (len(sizes), len(sizes))
    assert release.risk_after.records == sum(sizes.values())
    assert {item.kind: item.rows for item in release.objects} == {
        release_service_pb2.ReleaseObjectKind.Value(f"RELEASE_OBJECT_KIND_{kind}"): len(table)
        for kind, table in published.objects.items()
    }

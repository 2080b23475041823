"""Ambiguity and divergences by hand, the domains they refuse, and domains with more values than declared."""

import math

import pytest

from tableveil.classes import Check
from tableveil.hierarchy import InlineLevels, UncountableError
from tableveil.hierarchy.rules import MaskFrom, Redaction
from tableveil.policy import AmbiguityModel, KLDivergenceModel, KLWeighting, QualityModel
from tableveil.quality import quality_of
from tableveil.quality.kl_divergence import crowding
from tests.engine.random_tables import CONTINUOUS, CROWDED, Attribute, Table
from tests.engine.rules import k_anonymity

PER_RECORD = KLWeighting.PER_RECORD

# |H| = 4, of which d occurs nowhere.
LETTER = Attribute(
    InlineLevels((("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"), ("d", "y", "*"))), ("a", "b", "c"), True
)

SEX = Attribute(InlineLevels((("f", "*"), ("m", "*"))), ("f", "m"), False)


def table(*records: str, k: int = 1) -> Table:
    """Each record is the texts of its letter and sex; a letter `-` is a NULL that is withheld."""
    rows = tuple((None if r[0] == "-" else r[0], r[1]) for r in records)
    return Table((LETTER, SEX), rows, k, len(records), (1.0, 1.0))


def score(of: Table, at: tuple[int, ...], model: QualityModel) -> float:
    counter = of.counter()
    classes = counter.classes(at)
    quality = quality_of(model, counter, of.weights, of.suppressible)
    return quality.reported(quality.assess(at, classes, k_anonymity(of.k).releasable(classes)).score)


def test_ambiguity_counts_what_a_record_could_have_been() -> None:
    of = table("af", "af", "cf", "cm", k=2)
    assert score(of, (1, 1), AmbiguityModel()) == 4 * 2 * 2
    # At (1, 0), cf and cm are suppressed: they could be any of 4 * 2.
    assert score(of, (1, 0), AmbiguityModel()) == 2 * 2 + 2 * 8
    assert score(of, (1, 0), AmbiguityModel(monotone=True)) == 4 * 2
    assert score(table("af", "af", "-f"), (0, 0), AmbiguityModel(monotone=True)) == 2 + 8


def test_divergence_of_a_release_that_spreads_records_over_what_did_not_occur() -> None:
    of = table("af", "af", "bf", "cm")
    assert score(of, (0, 0), KLDivergenceModel()) == 0
    # x has 2 combinations with f. In each of them, 1.5 of its 3 records are expected.
    expected = 2 / 4 * math.log2(2 / 1.5) + 1 / 4 * math.log2(1 / 1.5)
    assert score(of, (1, 0), KLDivergenceModel()) == pytest.approx(expected + 1 / 4 * math.log2(1 / 0.5), rel=1e-9)
    everything = 2 / 4 * math.log2(2 / 4 * 8) + 2 / 4 * math.log2(1 / 4 * 8)
    assert score(of, (2, 1), KLDivergenceModel()) == pytest.approx(everything, rel=1e-9)


def test_divergence_spreads_suppressed_records_over_the_domain() -> None:
    of = table("af", "af", "bf", "cm", k=2)
    expected = 2 * (1 / 4 * math.log2(1 / (2 / 8)))
    assert score(of, (0, 0), KLDivergenceModel()) == pytest.approx(expected, rel=1e-9)
    assert score(of, (0, 0), KLDivergenceModel(monotone=True)) == 0


def test_withheld_records_are_suppressed_combinations_of_their_own() -> None:
    of = table("af", "af", "-f", "-m")
    assert score(of, (0, 0), KLDivergenceModel()) == pytest.approx(2 * (1 / 4 * math.log2(1 / (2 / 8))), rel=1e-9)
    assert score(of, (0, 0), KLDivergenceModel(monotone=True)) == score(of, (0, 0), KLDivergenceModel())


def test_arx_weighs_a_combination_by_its_records_once_more() -> None:
    of = table("af", "af", "bf", "cm")
    expected = 2 * (2 / 4 * math.log2(2 / 1.5)) + 1 / 4 * math.log2(1 / 1.5) + 1 / 4 * math.log2(1 / 0.5)
    assert score(of, (1, 0), KLDivergenceModel(PER_RECORD)) == pytest.approx(expected, rel=1e-9)


MODELS = [AmbiguityModel(), KLDivergenceModel(), KLDivergenceModel(PER_RECORD)]


@pytest.mark.parametrize("model", MODELS)
def test_continuous_domains_are_refused_by_position(model: QualityModel) -> None:
    of = Table((SEX, CONTINUOUS), (("f", "0.3"), ("m", "9.9")), 1, 0, (1.0, 1.0))
    with pytest.raises(UncountableError, match="quasi-identifier 1 has a continuous domain") as raised:
        quality_of(model, of.counter(), of.weights, 0)
    assert raised.value.attribute == 1


def test_ambiguity_refuses_more_combinations_than_a_float_holds() -> None:
    text = Attribute(Redaction(200, 10), ("1", "2"), False)
    of = Table((text, text), (("1", "2"),), 1, 0, (1.0, 1.0))
    with pytest.raises(UncountableError, match="more combinations") as raised:
        quality_of(AmbiguityModel(), of.counter(), of.weights, 0)
    assert raised.value.attribute is None
    assert score_at_top(of) == pytest.approx(2 * 200 * math.log2(10), rel=1e-9)


@pytest.mark.parametrize("weighting", KLWeighting)
def test_bounds_of_the_divergence_count_on_more_suppression(weighting: KLWeighting) -> None:
    """At hi, q1 to q10 are suppressed and the three of p are a class; at lo these are suppressed too, and cost less.

    They could be a third of all combinations, and are expected there no more than among thirteen that could be any.
    """
    place = InlineLevels((*((f"p{i}", "p", "*") for i in range(20)), *((f"q{i}", f"q{i}", "*") for i in range(10))))
    attribute = Attribute(place, ("p0", *(f"q{i}" for i in range(10))), False)
    records = (("p0", "f"), ("p0", "m"), ("p0", "m"), *((f"q{i}", "f") for i in range(10)))
    of = Table((attribute, SEX), records, 3, len(records), (1.0, 1.0))
    counter = of.counter()
    quality = quality_of(KLDivergenceModel(weighting), counter, of.weights, of.suppressible)
    classes = counter.classes((1, 0))
    at_lo = quality.assess((1, 0), classes, classes.counts >= 3).score
    assert quality.evidence(Check(counter, (1, 1), 3)).bound((1, 0)) <= at_lo
    if quality.bounds_by_classes:
        assert quality.bound_between(Check(counter, (1, 0), 3), (1, 1)) <= at_lo


def test_the_divergence_is_bounded_where_withheld_records_make_suppression_cheaper() -> None:
    """In a domain of one value, four suppressed records are expected as they are, two of them would not be."""
    single = Attribute(InlineLevels((("a", "*"),)), ("a",), True)
    of = Table((single,), (("a",), ("a",), (None,), (None,)), 3, 4, (1.0,))
    counter = of.counter()
    quality = quality_of(KLDivergenceModel(), counter, of.weights, of.suppressible)
    classes = counter.classes((0,))
    score = quality.assess((0,), classes, classes.counts >= 3).score
    check = Check(counter, (0,), 3)
    assert score == (0.0,)
    assert quality.evidence(check).bound((0,)) <= score
    assert quality.bound_between(check, (0,)) <= score


def score_at_top(of: Table) -> float:
    """One record is expected in one of all combinations."""
    counter = of.counter()
    top = of.lattice.top
    classes = counter.classes(top)
    quality = quality_of(KLDivergenceModel(), counter, of.weights, 0)
    return quality.reported(quality.assess(top, classes, classes.counts > 0).score)


def test_crowding_is_how_many_more_values_occur_than_a_label_has_leaves() -> None:
    column = [("aa",), ("ab",), ("ac",), ("ba",), ("ca",)]

    def crowded(alphabet_size: int, records: list[tuple[str]]) -> float:
        attribute = Attribute(Redaction(2, alphabet_size, MaskFrom.RIGHT), (), False)
        of = Table((attribute,), tuple(records), 1, 0, (1.0,))
        return crowding(of.levels, of.counter().marginals())

    assert crowded(3, column) == 0
    # `**` has 4 leaves. It holds 5 texts, and labels `a*`, `b*`, `c*` of 2 leaves each; `a*` holds 3 texts.
    assert crowded(2, column) == pytest.approx(math.log2(6 / 4), rel=1e-15)
    assert crowded(2, column[:2]) == 0


def test_values_that_are_withheld_crowd_nothing() -> None:
    of = table("af", "bf", "-f")
    assert crowding(of.levels, of.counter().marginals()) == 0
    one = Table((Attribute(InlineLevels((("a", "*"),)), ("a",), True),), (("a",), (None,)), 1, 1, (1.0,))
    assert crowding(one.levels, one.counter().marginals()) == 0


def test_the_divergence_is_bounded_by_both_ends_in_crowded_domains_too() -> None:
    """Merging `aa`, `ab`, `ac` makes each of them expected more, since `a*` claims to have two leaves only."""
    of = Table((CROWDED,), (("aa",), ("ab",), ("ac",)), 1, 0, (1.0,))
    counter = of.counter()
    quality = quality_of(KLDivergenceModel(), counter, of.weights, 0)
    classes = counter.classes((1,))
    merged = quality.assess((1,), classes, classes.counts > 0).score
    apart = quality.assess((0,), counter.classes((0,)), counter.classes((0,)).counts > 0).score
    assert merged < apart
    assert quality.bound_between(Check(counter, (0,), 1), (1,)) <= merged

"""Scores and their parts are what the definitions say, with NULLs, suppressed and withheld records, and all options."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.policy import Game, QualityModel
from tableveil.quality import quality_of
from tests.engine.quality.definitions import defined
from tests.engine.quality.models import BY_CLASSES, GAMES, NAMES, SEPARABLE
from tests.engine.random_tables import Table, inline, tables
from tests.engine.rules import k_anonymity


@pytest.mark.parametrize("models", [*SEPARABLE, *BY_CLASSES], ids=NAMES)
@given(data=st.data(), table=tables(inline()), game=GAMES)
def test_scores_are_those_of_the_definition(
    models: st.SearchStrategy[QualityModel], data: st.DataObject, table: Table, game: Game
) -> None:
    model = data.draw(models)
    x = tuple(data.draw(st.integers(0, top)) for top in table.lattice.top)
    counter = table.counter()
    quality = quality_of(model, counter, table.weights, table.suppressible, game)
    classes = counter.classes(x)
    assessment = quality.assess(x, classes, k_anonymity(table.k).releasable(classes))
    expected = defined(table, x, model, game)
    assert quality.reported(assessment.score) == pytest.approx(expected.score, rel=1e-9, abs=1e-9)
    assert assessment.values == pytest.approx(expected.values, rel=1e-9, abs=1e-9)

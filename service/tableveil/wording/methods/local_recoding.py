"""The words of local recoding."""

from tableveil.wording.methods.words import MethodWords

WORDS = MethodWords(
    name="local recoding",
    does="every class of records has levels of its own",
    explanation="There is none: every class has levels of its own.",
    tells_costs=True,
    price=(
        "Local recoding keeps more detail by making classes as small as the models allow: so the average risk "
        "({average}) comes near the highest ({highest}). Full-domain generalization has larger classes, and a "
        "lower average."
    ),
    then=", then classes of their own for every k and limit",
    ranges="",
    unbounded="not proven to be the best: no bound is known of how much less others could lose",
    unproven="not proven to be the best",
    others="no local recoding",
)

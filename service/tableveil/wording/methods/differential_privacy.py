"""The words of differential privacy."""

from tableveil.wording.methods.words import MethodWords

WORDS = MethodWords(
    name="differential privacy",
    does="every column has one level, and chance removed rows of every class",
    promise=(
        "It is ({epsilon}, {delta})-differentially private: whether a person is in the source changes the "
        "probability of no release by more than a factor of e^{epsilon}, except with a probability of {delta}. "
        "Nobody is told how many rows chance removed; all figures are of those that it left."
    ),
    explanation="There is none: another one would tell of the table. The levels are the policy's, or were drawn.",
    verdict="not asked for: the levels do not tell which are the best, or were drawn",
)

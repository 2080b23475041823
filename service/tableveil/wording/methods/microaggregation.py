"""The words of microaggregation."""

from tableveil.wording.methods.words import MethodWords

WORDS = MethodWords(
    name="microaggregation",
    does="clusters of similar records, whose values are replaced by one value for all",
    score="squared error",
    explanation="There is none: clusters take its place. Its account says how they were formed.",
    optimal="optimal: no clusters that are large enough have a lower squared error",
    unbounded="not proven to be the best: no bound is known of the squared error of others",
    others="",
)

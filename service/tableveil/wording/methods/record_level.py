"""The words of record-level generalization."""

from tableveil.wording.methods.words import MethodWords

WORDS = MethodWords(
    name="record-level generalization",
    does="every combination of values has levels of its own",
    explanation="Every combination of values has the levels that pay most for it: see its account.",
    unproven="not proven to be the best against an adversary who knows the method",
)

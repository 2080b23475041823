"""The quality model that a policy asks for, over the table that was counted."""

from __future__ import annotations

from tableveil.classes import ClassCounter
from tableveil.errors import InvalidError, shortened
from tableveil.policy import Policy, described
from tableveil.quality import QualityModel, quality_of
from tableveil.quality.domains import UncountableError


def quality_for(policy: Policy, counter: ClassCounter, suppressible: int) -> QualityModel:
    """The model, for transformations that suppress at most so many records.

    Raises:
        InvalidError: It counts what the policy's hierarchies do not let it.
    """
    attributes = policy.quasi_identifiers
    try:
        return quality_of(policy.quality_model, counter, [attribute.weight for attribute in attributes], suppressible)
    except UncountableError as error:
        model, hint = described(policy.quality_model), "Or choose another quality model, such as loss."
        if error.attribute is None:
            found = f"{model}, for hierarchies with too many combinations of values to be counted"
            expected = "hierarchies of fewer values"
            raise InvalidError.of("QUALITY_UNCOUNTABLE", "quality_model", found, expected, hint) from None
        attribute = attributes[error.attribute]
        raise InvalidError.of(
            "QUALITY_UNCOUNTABLE",
            f"attributes[{policy.attributes.index(attribute)}].hierarchy",
            f"a range of {shortened(attribute.column)} that is measured, not counted",
            f"values that can be counted, because {model} counts combinations of them",
            f"Decimals and floats are measured: round them to whole numbers. {hint}",
        ) from None

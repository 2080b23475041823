"""The classes of an earlier release that a policy uses again, as labels of its own hierarchies."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tableveil.backend import Session
from tableveil.dictionary import Dictionary
from tableveil.errors import Fault, InvalidError, shortened
from tableveil.features.class_labels import Label, class_labels, meanings
from tableveil.lattice import Lattice
from tableveil.local_recoding import KnownClasses
from tableveil.pipelines.known_classes import check_known_classes
from tableveil.policy import AttributePolicy, Policy
from tableveil.policy.methods.local_recoding import LOCAL_RECODING
from tableveil.state.releases import RELEASES


def known_classes(
    session: Session, policy: Policy, dictionaries: Sequence[Dictionary], lattice: Lattice, number: int
) -> tuple[KnownClasses, int]:
    """The classes of the release of that number that the values of the source could have, and how many it has in all.

    Raises:
        InvalidError: The release is not there any more, or the policy's hierarchies, level limits or held columns do
            not have its labels.
        ConflictError: The release's classes are gone, or were changed.
    """
    with session.transaction():
        faults, release = check_known_classes(session, policy), RELEASES.find(session.ledger, number)
        if faults or release is None:
            raise _unfit(faults)
        labels = class_labels(session, release, [attribute.column for attribute in policy.quasi_identifiers])
        used_levels = []
        for j, attribute in enumerate(policy.quasi_identifiers):
            there = [row[j] for row in labels]
            read_meanings = meanings(session, dictionaries[j], range(lattice.bottom[j], lattice.top[j] + 1))
            others = (
                meanings(session, dictionaries[j], range(dictionaries[j].levels.top + 1)).keys() - read_meanings.keys()
            )
            used_levels.append(
                np.array([read_meanings.get(label, (-1, -1)) for label in there], np.int64).reshape(-1, 2)
            )
            faults += _faults(policy, attribute, there, others, used_levels[-1][:, 0])
    if faults:
        raise _unfit(faults)
    both = np.stack(used_levels, axis=1)
    usable = both[(both >= 0).all(axis=(1, 2))]
    return KnownClasses(usable[:, :, 0], usable[:, :, 1]), len(labels)


def _unfit(faults: list[Fault]) -> InvalidError:
    return InvalidError.about("CLASSES_DO_NOT_FIT", "the classes of the earlier release do not fit", faults)


def _faults(
    policy: Policy, attribute: AttributePolicy, labels: list[Label], others: set[Label], levels: NDArray[np.int64]
) -> Iterator[Fault]:
    """The faults of a column whose classes have these `labels`, at these `levels`; `others` are out of the limits."""
    field, column = f"attributes[{policy.attributes.index(attribute)}]", shortened(attribute.column)
    used, outside = np.unique(levels[levels >= 0]), len(others.intersection(labels))
    if outside:
        actual = f"limits beyond which {column} has {outside:,} labels in the release"
        yield Fault(field, actual, "a minimum_level and a maximum_level between which all of them are")
    elif labels and not len(used):
        actual = f"values and labels of which {column} has none in the release"
        yield Fault(f"{field}.hierarchy", actual, "values of the same kind, and the hierarchy of the release")
    most = dict(LOCAL_RECODING.options(policy).most_levels).get(attribute.column)
    if most is not None and len(used) > most:
        yield Fault(f"local_recoding.most_levels[{column}]", str(most), f"at least the {len(used)} of the release")

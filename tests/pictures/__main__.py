"""Writes the pictures of docs: `make pictures`. Real jobs give the ten rows, the protos give the roles."""

from collections.abc import Mapping
from pathlib import Path

from tableveil.convert import policy_from_proto
from tableveil.document import read_policy
from tableveil.hierarchy.definition import RuleHierarchy
from tests.pictures.diagrams import diagrams
from tests.pictures.drawn import hierarchy_picture, lattice_picture, recoding_picture, roles_picture, ten_rows_picture
from tests.pictures.ten_rows import EXAMPLE, ten_rows

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"


def pictures_of_ten_rows() -> Mapping[str, str]:
    """The pictures that two jobs are run for."""
    ten = ten_rows()
    return {
        "ten_rows": ten_rows_picture(ten),
        "local_recoding": recoding_picture(ten),
        "hierarchy": hierarchy_picture(ten, _hierarchy_of_ages()),
        "lattice": lattice_picture(ten),
    }


def _hierarchy_of_ages() -> RuleHierarchy:
    proto, _ = read_policy((EXAMPLE / "policy.yaml").read_text(encoding="utf-8"), "yaml")
    policy, _ = policy_from_proto(proto)
    assert policy is not None
    (hierarchy,) = (attribute.hierarchy for attribute in policy.attributes if attribute.column == "age")
    assert isinstance(hierarchy, RuleHierarchy)
    return hierarchy


def main() -> None:
    """Writes all."""
    for name, text in {**pictures_of_ten_rows(), "roles": roles_picture(), **diagrams()}.items():
        (PICTURES / f"{name}.svg").write_text(text, encoding="utf-8")
        print(f"docs/pictures/{name}.svg")


if __name__ == "__main__":
    main()

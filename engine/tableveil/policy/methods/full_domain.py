"""Full-domain generalization, the method of a policy that asks for no other: what it works with."""

from types import NoneType

from tableveil.policy.methods.traits import Analysis, MethodTraits

FULL_DOMAIN = MethodTraits(
    name="full domain",
    kind=NoneType,
    check=lambda policy, options: iter(()),
    shows_suppressed=True,
    units=True,
    together=True,
    warehouses=True,
    analyses=frozenset(Analysis),
)

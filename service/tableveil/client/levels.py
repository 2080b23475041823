"""The levels or the classes that an earlier release found, for other data of the same shape."""

from tableveil.errors import InvalidError, shortened
from tableveil.v1 import policy_pb2, release_service_pb2

_MOST_NAMED = 5


def use_levels_of(policy: policy_pb2.Policy, release: release_service_pb2.Release) -> None:
    """Gives every generalized quasi-identifier of the policy, as `search.levels`, the level it has in the release.

    A policy whose method takes over classes uses those of the release again, whose labels the server reads.

    Raises:
        InvalidError: The policy gives levels already, its quasi-identifiers are not those of the release, the release's
            records have levels of their own, or nothing is generalized.
    """
    # The registry loads numpy, which a command that only asks the server does not.
    from tableveil.convert.policy_from_proto import methods_stated
    from tableveil.policy.methods import METHODS, HandedOn

    method = next(iter(methods_stated(policy)), None)
    if method is not None and method.hands_on is HandedOn.NOTHING:
        hint = "Leave --levels-of out: clusters are formed anew."
        actual = f"{method.field}, which generalizes no column"
        raise InvalidError.of("LEVELS_OF_NOTHING", method.field, actual, "a policy with hierarchies", hint)
    if method is not None and method.hands_on is HandedOn.CLASSES:
        options, hint = getattr(policy, method.field), f"Remove it from the policy to use those of {release.name}."
        if options.classes_of not in ("", release.name):
            given = shortened(options.classes_of)
            raise InvalidError.of("LEVELS_GIVEN", f"{method.field}.classes_of", given, release.name, hint)
        options.classes_of = release.name
        return
    if policy.search.levels:
        hint = f"Remove them from the policy to use those of {release.name}."
        raise InvalidError.of("LEVELS_GIVEN", "search.levels", "levels", f"nothing beside {release.name}", hint)
    if any(result.levels for result in release.attributes):
        actual = f"{release.name}, whose records have levels of their own"
        able = " or ".join(method.field for method in METHODS if method.hands_on is HandedOn.CLASSES)
        hint = f"Add {able} to the policy: it uses their classes again. Or choose anew."
        raise InvalidError.of("LEVELS_OF_RECORDS", "search.levels", actual, "a release of one transformation", hint)
    # Aggregated columns have no levels.
    levels = {result.column: result.level for result in release.attributes if not result.aggregation}
    columns = {
        attribute.column
        for attribute in policy.attributes
        if attribute.role == policy_pb2.ROLE_QUASI_IDENTIFIER and not attribute.HasField("aggregation")
    }
    if columns != levels.keys():
        parts = [
            f"{_listed(names)} only in {where}"
            for names, where in ((columns - levels.keys(), "the policy"), (levels.keys() - columns, release.name))
            if names
        ]
        raise InvalidError.of(
            "LEVELS_OF_OTHER_COLUMNS",
            "attributes",
            f"quasi-identifiers that are not those of {release.name}: {'; '.join(parts)}",
            "the same quasi-identifiers as in the release",
        )
    policy.search.levels.update(levels)


def _listed(names: set[str]) -> str:
    shown = sorted(names)[:_MOST_NAMED]
    return ", ".join(map(shortened, shown)) + (", …" if len(names) > len(shown) else "")

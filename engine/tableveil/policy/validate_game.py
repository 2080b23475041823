"""The checks of a policy's game, and of the fields that need one."""

from collections.abc import Iterator
from dataclasses import fields
from decimal import Decimal

from tableveil.errors import Fault
from tableveil.hierarchy import SAFE_HARBOR_LEVEL, SafeHarborHierarchy, field_of
from tableveil.policy.game import AMOUNT_PLACES, Game
from tableveil.policy.model import Policy, Role
from tableveil.policy.privacy import PLAYED, PRIVACY_FIELDS, SafeHarbor
from tableveil.policy.quality import FIELDS, PublisherPayoutModel

LARGEST = 10**12
"""Nothing in a table of people is worth more; and with no more than nine places, whole numbers stay small."""


def check_game(policy: Policy) -> Iterator[Fault]:
    """Faults of the game, of models that need one, and of Safe Harbor's columns."""
    yield from _check_needs(policy)
    if policy.game is not None:
        yield from _check_stakes(policy.game)
    yield from _check_safe_harbor(policy)


def _check_needs(policy: Policy) -> Iterator[Fault]:
    asking = [PRIVACY_FIELDS[type(model)] for model in policy.privacy_models if isinstance(model, PLAYED)]
    if isinstance(policy.quality_model, PublisherPayoutModel):
        asking.append(FIELDS[PublisherPayoutModel])
    if asking and policy.game is None:
        expected = f"the worth of records, because of {', '.join(sorted(set(asking)))}"
        example = "For example: {publisher_benefit: 1200, publisher_loss: 300, adversary_gain: 300, adversary_cost: 4}."
        yield Fault("game", "nothing", expected, example)


def is_amount(value: Decimal) -> bool:
    """Whether the amount is allowed for a record: at least 0, at most `LARGEST`, with at most nine places."""
    # Decimals raise an error when they are compared with NaN.
    return value.is_finite() and 0 <= value <= LARGEST and round(value, AMOUNT_PLACES) == value


def _check_stakes(game: Game) -> Iterator[Fault]:
    sound = True
    for field in fields(game):
        value = getattr(game, field.name)
        positive = field.name != "publisher_loss"
        if not is_amount(value) or (positive and value == 0):
            least = "above 0" if positive else "of at least 0"
            expected = f"an exact decimal {least}, up to {LARGEST:,}, of no more than nine places"
            yield Fault(f"game.{field.name}", f"{value:f}", expected)
            sound = False
    if sound and game.adversary_gain <= game.adversary_cost:
        actual = f"{game.adversary_gain:f}, which is not above the cost of {game.adversary_cost:f}"
        hint = "Nobody would attack even a record that is unique: nothing would be protected."
        yield Fault("game.adversary_gain", actual, "more than adversary_cost", hint)


def _check_safe_harbor(policy: Policy) -> Iterator[Fault]:
    asked = [i for i, model in enumerate(policy.privacy_models) if isinstance(model, SafeHarbor)]
    if not asked:
        return
    has_harbor = False
    for i, attribute in enumerate(policy.attributes):
        if not isinstance(attribute.hierarchy, SafeHarborHierarchy):
            continue
        has_harbor = True
        if attribute.role is Role.SENSITIVE:
            released = f"SENSITIVE with {field_of(attribute.hierarchy)}: the column would be released as it is"
            yield Fault(f"attributes[{i}].role", released, "QUASI_IDENTIFIER, because of safe_harbor")
        most = attribute.maximum_level
        # A maximum below the minimum is another fault already.
        if most is not None and attribute.minimum_level <= most < SAFE_HARBOR_LEVEL:
            expected = f"at least {SAFE_HARBOR_LEVEL}, because of safe_harbor"
            yield Fault(f"attributes[{i}].maximum_level", str(most), expected)
    if not has_harbor:
        expected = "a quasi-identifier with a hierarchy safe_harbor_zip, safe_harbor_age or safe_harbor_date"
        yield Fault(f"privacy_models[{asked[0]}].safe_harbor", "no column that it says anything of", expected)

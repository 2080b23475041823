"""The game between publisher and adversary: information loss, attacks, payouts, record-level generalization."""

from tableveil.game.combinations import Combinations
from tableveil.game.inversion import payouts_against, people_of_labels, pre_image_sizes
from tableveil.game.payout import InformationLoss, Stakes, hits, sizes_of
from tableveil.game.record_level import Assignment, BestOfAll, Choice, best_transformations, enumerable, in_order
from tableveil.game.solving import solve_against_inversion

__all__ = [
    "Assignment",
    "BestOfAll",
    "Choice",
    "Combinations",
    "InformationLoss",
    "Stakes",
    "best_transformations",
    "enumerable",
    "hits",
    "in_order",
    "payouts_against",
    "people_of_labels",
    "pre_image_sizes",
    "sizes_of",
    "solve_against_inversion",
]

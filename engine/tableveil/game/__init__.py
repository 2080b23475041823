"""The game between publisher and adversary: information loss, attacks, payouts, and who is released at which levels."""

from tableveil.game.assignment import (
    SUPPRESSED,
    Assignment,
    Choice,
    Combinations,
    in_order,
    payouts_against,
    people_of_labels,
    pre_image_sizes,
)
from tableveil.game.counting import enumerable
from tableveil.game.payout import InformationLoss, Stakes, hits, sizes_of

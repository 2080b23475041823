"""Record-level generalization in the game: the best transformation of every combination of values."""

from tableveil.game.record_level.best import BestOfAll, best_transformations
from tableveil.game.record_level.solving import solve_against_inversion

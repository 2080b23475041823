"""How the columns of a source and of its release spread, and how strongly they are associated."""

from tableveil.utility.associations import MOST_ASSOCIATED, MOST_ROWS, associations
from tableveil.utility.collected import collected_sides
from tableveil.utility.compared import Compared, Sides
from tableveil.utility.spreads import spreads

__all__ = ["MOST_ASSOCIATED", "MOST_ROWS", "Compared", "Sides", "associations", "collected_sides", "spreads"]

"""How the columns of a source and of a release of it spread, and go together."""

from tableveil.utility.associations import MOST_ASSOCIATED, MOST_ROWS, associations
from tableveil.utility.compared import Compared, Sides
from tableveil.utility.spreads import spreads

__all__ = ["MOST_ASSOCIATED", "MOST_ROWS", "Compared", "Sides", "associations", "spreads"]

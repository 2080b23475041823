"""How the columns of a source and of its release spread, how they are associated, and which rates moved."""

from tableveil.utility.associations import MOST_ASSOCIATED, associations
from tableveil.utility.compared import MOST_ROWS, Compared, Sides, collected_sides
from tableveil.utility.rates import Labelled, moved_rates
from tableveil.utility.spreads import spreads

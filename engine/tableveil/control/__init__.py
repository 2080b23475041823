"""The exchange between long work and its caller: when to stop, and how far the work is."""

from tableveil.control.progress import SECONDS_BETWEEN_REPORTS, Progress
from tableveil.control.stopping import Control, Stopped

"""What may stop long work, and how that shows."""

from tableveil.control.stopping import Control, Stopped

__all__ = ["Control", "Stopped"]

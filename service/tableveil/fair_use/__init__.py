"""Limits for each principal, so that none takes the whole server, and places that strangers cannot keep."""

from tableveil.fair_use.fair_use import FairUse, Held, Limits
from tableveil.fair_use.places import Places

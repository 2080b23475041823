"""Requests besides a policy: risk analysis, classification, utility, frontier, payout sweep."""

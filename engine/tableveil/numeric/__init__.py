"""Floating-point numbers: how they are rounded before they are compared, and where a function is 0."""

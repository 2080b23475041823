"""Floating-point numbers: how they are rounded before they are compared, and the roots of functions."""

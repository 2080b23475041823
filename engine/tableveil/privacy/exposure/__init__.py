"""Exposure by columns that are released as they are: who is found by values, and what follows without knowing any."""

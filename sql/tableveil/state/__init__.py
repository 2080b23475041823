"""Tableveil's own tables in the schema `tableveil`: migrations, secret key, hierarchies, jobs, releases."""

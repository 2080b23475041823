"""Release jobs on tables of very different sizes, under a memory limit."""

"""The tables of commands, and of the results that `show` shows."""

from __future__ import annotations

MODULES = {
    "serve": "serve",
    "endpoint": "endpoint",
    "load": "load",
    "loads": "load",
    "truncate": "removal",
    "drop": "removal",
    "erase": "removal",
    "tables": "described",
    "describe": "described",
    "run": "run",
    "submit": "policies",
    "sql": "sql",
    "check-policy": "policies",
    "jobs": "jobs",
    "watch": "jobs",
    "cancel": "jobs",
    "resubmit": "jobs",
    "delete": "jobs",
    "frontier": "frontier",
    "sweep": "sweep",
    "risk": "risk",
    "draft-policy": "draft",
    "classify": "classify",
    "utility": "utility",
    "compare": "compare",
    "releases": "releases",
    "results": "results",
    "show": "releases",
    "report": "report",
    "export": "releases",
    "withdraw": "releases",
    "publish": "publish",
    "review": "approvals",
    "approve": "approvals",
    "reject": "approvals",
    "hierarchies": "hierarchies",
    "doctor": "doctor",
    "backup": "backup",
    "restore": "backup",
    "certificates": "certificates",
    "tokens": "tokens",
    "grants": "grants",
    "health": "health",
    "info": "info",
    "audit": "audit",
    "demo": "demo",
}
"""The module of each command. They are loaded when they are needed: a list of jobs should not wait for DuckDB."""

SHOWN = {
    "frontiers": "frontier",
    "payoutSweeps": "sweep",
    "riskAnalyses": "risk",
    "classifications": "classify",
    "utilityReports": "utility",
    "dryRuns": "dry_run",
    "loads": "load",
}
"""By collection of results, and of loads, the module with its `show_result`."""

COUNTED = {"classifications": "classifiers trained", "utilityReports": "columns compared"}
"""By collection, the unit of a job's progress where there are no transformations."""

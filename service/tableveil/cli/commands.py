"""The tables of commands, by who uses them, and of the results that `show` shows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Listed:
    """A command as the help lists it: its module, and what it does, in a sentence."""

    module: str
    summary: str


SECTIONS: dict[str, dict[str, Listed]] = {
    "Tables": {
        "load": Listed("load", "Load a CSV or Parquet file, or rows of PostgreSQL, into a table."),
        "loads": Listed("load", "List what was loaded, newest first."),
        "tables": Listed("described", "List the tables and views of the server's database."),
        "describe": Listed("described", "Show the columns of a table: types, NULLs, how many different values."),
        "truncate": Listed("removal", "Remove all rows of a table, which stays."),
        "drop": Listed("removal", "Remove a table with its rows."),
        "erase": Listed("removal", "Remove people's rows, also from what the ledger keeps of them."),
    },
    "Policies": {
        "propose": Listed("propose", "Try policies for a table, and write the best of them."),
        "draft-policy": Listed("draft", "Draft a policy for a table."),
        "widen": Listed("draft", "Extend the bounds of a policy that do not cover all values any more."),
        "risk": Listed("risk", "Measure the risks of a table, of a subset of it, or of a release."),
        "check-policy": Listed("policies", "Check the policy in a file against the database."),
        "document": Listed("document", "Turn policies from YAML, JSON or SQL into another of these."),
        "frontier": Listed("frontier", "Show the best score for every k with every suppression limit."),
        "sweep": Listed("sweep", "Show what a game's policy pays for each benefit and cost."),
        "worksheets": Listed("worksheets", "Look at decisions about tables that are not released yet."),
        "hierarchies": Listed("hierarchies", "Store hierarchies on the server, and look at them."),
    },
    "Releases": {
        "submit": Listed("policies", "Queue a job for the policy in a file."),
        "run": Listed("run", "Make the release of a policy at once, without a server: for pipelines."),
        "sql": Listed("sql", "Run statements, such as CREATE ANONYMIZED TABLE."),
        "jobs": Listed("jobs", "List jobs, newest first."),
        "watch": Listed("jobs", "Follow a job until it ends."),
        "cancel": Listed("jobs", "Cancel jobs."),
        "resubmit": Listed("jobs", "Start an ended job anew."),
        "delete": Listed("jobs", "Delete jobs that have ended, with their results."),
        "releases": Listed("releases", "List releases, newest first; or judge some of them together."),
        "results": Listed("results", "List the results of jobs that release nothing."),
        "show": Listed("releases", "Show what there is of a name."),
        "report": Listed("report", "Write the report of a release."),
        "compare": Listed("compare", "Show two releases side by side."),
        "utility": Listed("utility", "Measure what a release keeps of the source."),
        "classify": Listed("classify", "Train classifiers on a release and on its source."),
        "export": Listed("releases", "Write a release's public objects to files."),
        "query": Listed("query", "Ask an endpoint about published releases."),
        "publish": Listed("publish", "Publish a release to a target of the server."),
        "promote": Listed("releases", "Make a release of a trial."),
        "withdraw": Listed("releases", "Drop what a release wrote, and note why."),
    },
    "Approval": {
        "review": Listed("approvals", "Show a release to its approver."),
        "approve": Listed("approvals", "Make a release public that somebody else made."),
        "reject": Listed("approvals", "Drop a release that waits for approval."),
    },
    "Administration": {
        "tokens": Listed("tokens", "Give callers tokens, and take them back."),
        "grants": Listed("grants", "Say who may do what with which tables."),
        "privacy-budgets": Listed("privacy_budgets", "Say how much differentially private releases may tell."),
        "schemas": Listed("schemas", "Make schemas for tables and releases, and rules of releases into them."),
        "audit": Listed("audit", "Read the audit, and verify it."),
    },
    "Operation": {
        "serve": Listed("serve", "Run the service until Ctrl-C or SIGTERM."),
        "endpoint": Listed("endpoint", "Let analysts query published releases by Arrow Flight SQL."),
        "console": Listed("console", "Show the service in a browser."),
        "info": Listed("info", "Show the server's version and limits."),
        "health": Listed("health", "Say whether the server lives, or takes calls."),
        "doctor": Listed("doctor", "Examine the database."),
        "backup": Listed("backup", "Write a backup on a running server."),
        "restore": Listed("backup", "Make a new database file of a backup."),
        "certificates": Listed("certificates", "Make certificates to try TLS out."),
        "demo": Listed("demo", "Release a generated table, and show everything."),
    },
}
"""By the work that they are for. The help lists them without loading them: that would take most of a second."""

COMMANDS = {name: command for section in SECTIONS.values() for name, command in section.items()}
"""All commands. Their modules are loaded when they are needed: a list of jobs should not wait for DuckDB."""

DRY_RUNS = "dryRuns"

SHOWN = {
    "frontiers": "frontier",
    "payoutSweeps": "sweep",
    "riskAnalyses": "risk",
    "classifications": "classify",
    "utilityReports": "utility",
    DRY_RUNS: "dry_run",
    "proposals": "propose",
    "loads": "load",
}
"""By collection of results, and of loads, the module with its `show_result`."""

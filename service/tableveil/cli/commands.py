"""The tables of commands, by who uses them, and of the results that `show` shows."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ListedCommand:
    """A command as the help lists it: its module, and what it does, in a sentence."""

    module: str
    summary: str


SECTIONS: dict[str, dict[str, ListedCommand]] = {
    "Tables": {
        "load": ListedCommand("load", "Load a CSV or Parquet file, or rows of PostgreSQL, into a table."),
        "loads": ListedCommand("load", "List what was loaded, newest first."),
        "tables": ListedCommand("described", "List the tables and views of the server's database."),
        "describe": ListedCommand("described", "Show the columns of a table: types, NULLs, how many different values."),
        "truncate": ListedCommand("removal", "Remove all rows of a table, which stays."),
        "drop": ListedCommand("removal", "Remove a table with its rows."),
        "erase": ListedCommand("removal", "Remove people's rows, also from what the ledger keeps of them."),
    },
    "Policies": {
        "propose": ListedCommand("propose", "Try policies for a table, and write the best of them."),
        "draft-policy": ListedCommand("draft", "Draft a policy for a table."),
        "widen": ListedCommand("draft", "Extend the bounds of a policy that do not cover all values any more."),
        "risk": ListedCommand("risk", "Measure the risks of a table, of a subset of it, or of a release."),
        "check-policy": ListedCommand("policies", "Check the policy in a file against the database."),
        "document": ListedCommand("document", "Turn policies from YAML, JSON or SQL into another of these."),
        "frontier": ListedCommand("frontier", "Show the best score for every k with every suppression limit."),
        "sweep": ListedCommand("sweep", "Show what a game's policy pays for each benefit and cost."),
        "worksheets": ListedCommand("worksheets", "Look at decisions about tables that are not released yet."),
        "hierarchies": ListedCommand("hierarchies", "Store hierarchies on the server, and look at them."),
    },
    "Releases": {
        "submit": ListedCommand("policies", "Queue a job for the policy in a file."),
        "run": ListedCommand("run", "Make the release of a policy at once, without a server: for pipelines."),
        "sql": ListedCommand("sql", "Run statements, such as CREATE ANONYMIZED TABLE."),
        "jobs": ListedCommand("jobs", "List jobs, newest first."),
        "watch": ListedCommand("jobs", "Follow a job until it ends."),
        "cancel": ListedCommand("jobs", "Cancel jobs."),
        "resubmit": ListedCommand("jobs", "Start an ended job anew."),
        "delete": ListedCommand("jobs", "Delete jobs that have ended, with their results."),
        "releases": ListedCommand("releases", "List releases, newest first; or judge some of them together."),
        "results": ListedCommand("results", "List the results of jobs that release nothing."),
        "show": ListedCommand("releases", "Show what there is of a name."),
        "report": ListedCommand("report", "Write the report of a release."),
        "compare": ListedCommand("compare", "Show two releases side by side."),
        "utility": ListedCommand("utility", "Measure what a release keeps of the source."),
        "classify": ListedCommand("classify", "Train classifiers on a release and on its source."),
        "export": ListedCommand("releases", "Write a release's public objects to files."),
        "query": ListedCommand("query", "Ask an endpoint about published releases."),
        "publish": ListedCommand("publish", "Publish a release to a target of the server."),
        "targets": ListedCommand("publish", "List the places that releases are published to."),
        "promote": ListedCommand("releases", "Make a release of a trial."),
        "withdraw": ListedCommand("releases", "Drop what a release wrote, and note why."),
    },
    "Approval": {
        "review": ListedCommand("approvals", "Show a release to its approver."),
        "approve": ListedCommand("approvals", "Make a release public that somebody else made."),
        "reject": ListedCommand("approvals", "Drop a release that waits for approval."),
    },
    "Administration": {
        "tokens": ListedCommand("tokens", "Give callers tokens, and take them back."),
        "grants": ListedCommand("grants", "Say who may do what with which tables."),
        "privacy-budgets": ListedCommand("privacy_budgets", "Say how much differentially private releases may tell."),
        "schemas": ListedCommand("schemas", "Make schemas for tables and releases, and rules of releases into them."),
        "audit": ListedCommand("audit", "Read the audit, and verify it."),
    },
    "Operation": {
        "serve": ListedCommand("serve", "Run the service until Ctrl-C or SIGTERM."),
        "endpoint": ListedCommand("endpoint", "Let analysts query published releases by Arrow Flight SQL."),
        "console": ListedCommand("console", "Show the service in a browser."),
        "info": ListedCommand("info", "Show the server's version and limits."),
        "health": ListedCommand("health", "Say whether the server lives, or takes calls."),
        "doctor": ListedCommand("doctor", "Examine the database."),
        "backup": ListedCommand("backup", "Write a backup on a running server."),
        "restore": ListedCommand("backup", "Make a new database file of a backup."),
        "certificates": ListedCommand("certificates", "Make certificates to try TLS out."),
        "demo": ListedCommand("demo", "Release a generated table, and show everything."),
    },
}
"""By the work that they are for. The help lists them without loading them: that would take most of a second."""

COMMANDS = {name: command for section in SECTIONS.values() for name, command in section.items()}
"""All commands. Their modules are loaded when they are needed: a list of jobs should not wait for DuckDB."""

SHOWN = {
    "frontiers": "frontier",
    "payoutSweeps": "sweep",
    "riskAnalyses": "risk",
    "classifications": "classify",
    "utilityReports": "utility",
    "dryRuns": "dry_run",
    "proposals": "propose",
    "loads": "load",
}
"""By collection of results, and of loads, the module with its `show_result`; `RESULT` there is the kind of message."""

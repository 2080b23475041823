"""Every table of the state, in one list: what a restored file takes over of it from a newer ledger, or why it does not.

A table that is in none of these has no answer yet; a test names it.
"""

from tableveil.state.jobs import KINDS, JobKind

PEOPLE = ("release_persons", "release_erased_persons", "release_samples", "release_sample_values")
"""The people of releases: rows of releases, or all rows where people were erased since."""

OF_RELEASES = (
    *PEOPLE,
    "decisions",
    "release_compared",
    "release_matches",
    "release_risk_histograms",
    "release_sources",
    "release_suppressions",
    "release_together",
    "row_checksums",
    "sensitive_distributions",
    "trials",
)
"""The tables with the evidence of a release, by their column `release`: rows of releases that the backup lacks."""

OF_JOBS = ("job_reads", "job_rights", "joint_texts")
"""A release that nobody compared yet is compared by the rights of its job; some of its texts are not for all."""

GROWING = ("privacy_charges", "removals", "schema_rules", "table_privacy")
"""Decisions and what was spent: all rows. A newer ledger has those of the backup, but for what an erasure took."""

WHOLE = (*GROWING, "backups", "ledger_gaps", "publications", "reports")
"""All rows in place of the backup's."""

REBUILT = {
    "audit_entries": "The start of a server reads them from the audit's file.",
    "audit_pending": "The newer file's server has them, or gets them.",
    "migrations": "They are the same: another version's ledger is refused.",
    "privacy_budgets": "All rows, once those of the backup are suspended.",
    "releases": "Rows that the backup lacks.",
    "rights_changes": "The mark beside the database has their number.",
    "secrets": "They are the same: another database's ledger is refused.",
    "suspended_releases": "All releases are suspended.",
    "withdrawals": "Rows since, and one of each release that is not here.",
}
"""Tables with statements of their own, or none."""

FORGOTTEN = {
    "answered_requests": "Their changes are not here, or do no harm when they are asked for again.",
    "grants": "The backup's own are suspended; an admin confirms them, and makes those since again.",
    "hierarchies": "Their rows are contents of the database: they are uploaded again.",
    "jobs": "They can be submitted again under their request ids.",
    "job_events": "Their jobs are not here.",
    "job_outcomes": "Their jobs are not here.",
    "loads": "Their rows are not here: they can be loaded again under their request ids.",
    "release_objects": "They are not here.",
    "release_swaps": "They are not here.",
    "tokens": "The backup's own are suspended; an admin confirms them, and makes those since again.",
    "worksheets": "They may show values of people who were erased since.",
    **{
        name: "A result of a job that is not here: the job can run again."
        for kind, stored in KINDS.items()
        if kind is not JobKind.RELEASE
        for name in stored.results.names()
    },
}
"""Tables of which nothing is taken over, each with the reason."""

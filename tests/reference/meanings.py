"""The meaning of each of the owner's tables, once, for docs/reference/objects.md; the migrations have the columns."""

MEANINGS = {
    "releases": (
        "The ledger: one row per release, with its proof and policy. `lattice_size` to `best_seconds` are NULL if"
        " the method does not search."
    ),
    "release_samples": (
        "Samples by which the ledger recognizes the people of a release's source: one row per column, and one "
        "with an empty name for the rows."
    ),
    "release_sample_values": (
        "Keyed hashes of the sampled values, with numbers of records, and short ones of their rows (`cells`)."
    ),
    "release_persons": (
        "Keyed digests of the people of a release's source, for erasures, each with the number of the person's "
        "class. The number is -1 without a row, 0 for a shown suppressed record, and NULL if it is not kept. With"
        " a `record_column` the digests are of the records, beside their people."
    ),
    "release_erased_persons": "The classes of erased people, who have a random number in place of a digest.",
    "release_together": "The earlier releases that a release was judged together with.",
    "release_matches": "Releases of the same people that the submitter of one could not see.",
    "release_compared": "Releases that were compared with those that their submitter could not see.",
    "release_swaps": (
        "Releases whose objects have not all got their names in a warehouse yet, and the objects that they "
        "replace. The next start completes them."
    ),
    "release_sources": "The tables that a release's query read.",
    "decisions": "Decisions about releases, one for each: its approver, the day, and the note.",
    "withdrawals": "Releases that were withdrawn, and the objects that the withdrawal kept.",
    "publications": "The targets that a release is published to, or was.",
    "backups": "The backups of this database that the server made.",
    "ledger_gaps": (
        "Where the ledger went back in time: after which release, until which if that is certain, and when this "
        "was noticed, or the backup made."
    ),
    "release_objects": "The public objects.",
    "release_attributes": (
        "A view. Per quasi-identifier: its level, its loss, its distinct values before and after, its part of the "
        "score. With `record_level` there are also the levels of the released records, each with how many have it. An "
        "aggregated one has its aggregate, and its squared error as a share of a single class's."
    ),
    "release_suppressions": (
        "Per generalized quasi-identifier: the released labels with most suppressed records, up to ten. Each is "
        "of at least k records, and has "
        "its records in the source, and how many of them are suppressed."
    ),
    "row_checksums": "The checksum of a release's rows, from its first report on.",
    "reports": "The reports that were made, each document once, with its SHA-256.",
    "release_runners_up": "A view of the best other transformations that were checked.",
    "release_explanations": "A view of the transformation of a release and its neighbours.",
    "release_costs": "A view. With `local_recoding`: the parts of the loss.",
    "release_rejections": "A view of the classes that each privacy model rejects in these transformations.",
    "release_risks": "A view of risk `before` and `after`, by the largest share of one person; and `after_by_size`.",
    "release_risk_histograms": "Class sizes `before` and `after`.",
    "guarantees": "A view of the strictest parameter that source (`before`) and release (`after`) meet.",
    "sensitive_distributions": (
        "The source's records per value of each sensitive column that a model looks at. They stay when a release "
        "is replaced."
    ),
    "audit_entries": "A copy of the newest entries of the audit.",
    "audit_pending": "Commands on the file while no server had it open, until the audit has them.",
    "jobs": "The requests of jobs.",
    "job_events": (
        "Phases and progress: checked transformations and all transformations. With `microaggregation` they are "
        "records in clusters and all records."
    ),
    "job_outcomes": (
        "The ends of jobs. `result` is the number of the release, the frontier or another result. Each warning "
        "begins with its rank: `must be decided`, `should be looked at`, `note`."
    ),
    "frontiers": "The risk-utility frontiers that were computed.",
    "frontier_points": "A view of the optimum for each k and suppression limit.",
    "dry_runs": (
        "Releases that were taken back, as they would have been. `lattice_size` to `best_seconds` are those of "
        "`releases`, and so are the figures of the `document`; it may have scores that another k or limit reached."
    ),
    "dry_run_suppressions": "Their suppressed records by labels, as in `release_suppressions`.",
    "dry_run_rows": "Up to twenty of the rows that they would release, until rows of their source are erased.",
    "exposures": (
        "A view. How many could be found by labels and released columns, or are among few by what follows of these."
    ),
    "worksheets": "Worksheets. Their contents are JSON.",
    "answered_requests": (
        "Changes that had a request id, each with its answer. A hash stands for the id, which is the key of the digest."
    ),
    "proposals": (
        "The proposals that were made. The `document` has values that look wrong, the policies that were tried, and "
        "what a forecast played."
    ),
    "payout_sweeps": "The payout sweeps that were computed.",
    "payout_points": "The payout of each kind of release for each gain.",
    "risk_analyses": (
        "The risk analyses that were made. The `document` has measures, how well each subset of the columns tells "
        "records apart, and the compared sets of columns."
    ),
    "risk_measures": "A view of their measures. A missing `value` means that there is no such number.",
    "classifications": "The classifier assessments that were made, with their figures.",
    "classification_measures": (
        "A view of the measures of each classifier, trained on the input or on the release. The baseline is `ZERO_R`."
    ),
    "utility_reports": "The utility reports that were made, with their figures.",
    "utility_columns": "A view of the treatment of each released column.",
    "table_privacy": "Versions of the privacy of tables, as JSON.",
    "joint_texts": "Texts of jobs that depend on other releases. An empty text stands for all evidence of a release.",
    "trials": "Trials, and when they were promoted.",
    "privacy_budgets": "Versions of the privacy budgets. A restore suspends them until they are set again.",
    "privacy_charges": "The charges to them: a row for each run of a job.",
    "schema_rules": "Versions of the rules of schemas.",
    "hierarchies": "Versions of hierarchies. Their rows are in `hierarchy_<number>`.",
    "loads": "The loads into tables, with their files, rows and rejected lines.",
    "removals": "Rows that were removed otherwise than by a load.",
    "grants": "The roles of principals and groups, on the server or a part of it.",
    "suspended_releases": "Releases of a restored backup that wait until an admin confirms them.",
    "rights_changes": (
        "A row for each change that an older file would undo: of tokens, grants, decisions, withdrawals, removed "
        "rows, declarations, rules, budgets and charges."
    ),
    "job_reads": "The tables that each job reads. Stewards of all of them see its results.",
    "job_rights": "The rights by which a job was admitted. Its release is compared with those that they show.",
    "tokens": "Tokens, by the SHA-256 of their texts, with their roles.",
    "secrets": "The key of the fingerprints.",
    "migrations": "Versions of this schema.",
}
"""By name of the table in the schema `tableveil`, ordered by subject."""

FAMILIES = {
    "snapshot_<release>": "The rows that a released view shows.",
    "record_risks_<number>": "The risks of each combination of values, if a risk analysis was asked for them.",
    "hierarchy_<number>": "The rows of a stored hierarchy.",
}
"""Tables of which there is one for each object."""

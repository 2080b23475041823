"""Error codes of releases, their copies and their targets."""

CODES = {
    "APPROVAL_NEEDED": ("Another person approves all that is public in this schema.", "Ask without publishing."),
    "COPY_DIFFERS": (
        "The copy of an object is not what was verified. Nothing was made public.",
        "Make the release again, and report it.",
    ),
    "COPY_UNREADABLE": ("The copy of released rows cannot be read.", "Give an export as Tableveil wrote it."),
    "DEMO_ROWS": ("The number of rows of the demo is out of bounds.", "Choose a number within the bounds."),
    "DEMO_SEED": ("The seed of the demo is negative.", "Choose 0 or more."),
    "DEMO_SERVER": ("The server of the demo did not start.", "Read the log that the error names."),
    "DIFFERENTIALLY_PRIVATE": (
        "The analysis would read raw rows of a differentially private release.",
        "Choose a release without that promise.",
    ),
    "DIRECTORY_IN_USE": (
        "The demo's directory holds something that no demo made.",
        "Choose an empty or new directory.",
    ),
    "EXPORT_FAILED": ("The export could not be written.", "Check the path and the free space."),
    "NOT_A_TRIAL": ("The release is no trial.", "Promote trials only."),
    "OBJECTS_CHANGED": (
        "Objects of the release were changed or dropped since they were verified.",
        "Make the release again.",
    ),
    "PDF_UNAVAILABLE": ("WeasyPrint is not installed.", "Run `pip install 'tableveil[pdf]'`, or ask for HTML."),
    "PENDING_CHANGED": (
        "Objects that wait for approval changed since they were verified.",
        "Reject the release, and make it again.",
    ),
    "STORAGE_VERSION_INVALID": (
        "No file can be written for this version of DuckDB.",
        "Name a version such as `v1.0.0`, with the format `duckdb`.",
    ),
    "TARGET_NOT_FOUND": ("There is no such target that you may see.", "Look at `tableveil targets`."),
    "PUBLICATION_NOT_FOUND": ("The release is not published to this target.", "The error lists its targets."),
    "RELATED_BEFORE": (
        "The related tables of these people are in another release, and readers of both find many of them again.",
        "Replace that release by the new one, with a reason, or withdraw the wish.",
    ),
    "RELEASED_BEFORE": (
        "People that must not be released again would be counted openly.",
        "Leave out `suppressed_by`.",
    ),
    "RELEASED_MEANWHILE": (
        "Another release of the same people was made since this one was counted.",
        "Submit the job again.",
    ),
    "RELEASE_CHANGED": ("The release's tables were changed or dropped by hand.", "Make the release again."),
    "RELEASE_DECIDED": (
        "Somebody has decided about the release.",
        "Nothing is left to do. `tableveil show` tells the decision.",
    ),
    "RELEASE_ELSEWHERE": ("The rows of the release are in a warehouse.", "Read it there."),
    "RELEASE_HAS_DEPENDANTS": (
        "Views of others read the release.",
        "Drop them first, or keep the objects on withdrawal.",
    ),
    "RELEASE_IN_USE": (
        "A job reads the release, or is about to replace it.",
        "Wait until the job has ended, or cancel it.",
    ),
    "RELEASE_IS_TRIAL": ("The release is a trial, whose rows stay private.", "Promote it by `tableveil promote`."),
    "RELEASE_NOT_FOUND": ("There is no such release, or you may not see it.", "Look at `tableveil releases`."),
    "RELEASE_OVERTAKEN": (
        "A later release of the same target is public.",
        "Approve the later one, or reject this one.",
    ),
    "RELEASE_PENDING": ("The release waits for approval.", "Another person approves it by `tableveil approve`."),
    "RELEASE_REJECTED": ("The release was rejected.", "Make another one."),
    "RELEASE_REPLACED": ("A later release replaced this one.", "Use the later one."),
    "RELEASE_TAKEN_BACK": ("The release was withdrawn, rejected or replaced.", "Publish a release that stands."),
    "RELEASE_WITHDRAWN": ("The release was withdrawn.", "Ask its steward why, or use a later one."),
    "REPEATED_PUBLICATION": (
        "Readers of the target have another release of the same people.",
        "Say why in the policy or by `--repeat-reason`, or choose other readers. Removing the earlier one is no way.",
    ),
    "REPEATED_RELEASE": (
        "These records were released before. Two releases together can tell more than each alone.",
        "Judge them together, or give `repeat_reason` (`REFRESH … BECAUSE`). Replaced or withdrawn ones count too.",
    ),
    "REPORT_INVALID": ("There is no such edition of this report.", "Choose another edition."),
    "ROWS_DIFFER": ("The rows do not have the checksum of the release.", "Do not trust the copy. Export it again."),
    "SAME_PEOPLE": (
        "A release that is said to be of other people has rows that recur in the table.",
        "Judge both together, or give `repeat_reason`.",
    ),
    "TARGET_EXISTS": (
        "There is an object of this name that the release may not replace.",
        "Choose another name, or allow to replace.",
    ),
    "TARGET_IN_USE": (
        "Somebody reads or changes what would be replaced.",
        "Submit again when the other work has ended.",
    ),
    "TARGET_OCCUPIED": (
        "PostgreSQL has a table of this name that no release wrote.",
        "Remove it yourself, or choose another name.",
    ),
    "TARGET_REFUSED": (
        "PostgreSQL refuses the publication.",
        "Look at the rights, roles and schema that the error names.",
    ),
    "TARGET_UNFIT": (
        "The target cannot hold the release as it is.",
        "Rename or convert the columns that the faults name.",
    ),
    "TARGET_UNKNOWN": (
        "The server has no such target.",
        "`tableveil targets` lists those that you may know. An operator adds one by `--publish`.",
    ),
    "TARGET_UNREACHABLE": (
        "PostgreSQL does not take it now.",
        "The server tries again by itself. See PostgreSQL's log.",
    ),
    "TARGET_UNWRITABLE": ("The server cannot write the target's directory.", "Check its owner and mode."),
    "TOGETHER_INVALID": ("Fewer than two releases were named.", "Name two or more."),
    "TOGETHER_NEW_KEYS": (
        "People seem to have other keys than in an earlier release: their rows recur, and their keys do not.",
        "Load them under the keys that they had, or write `left_behind: REPORT`.",
    ),
    "TOGETHER_TOO_MANY": (
        "Too many releases of the same people would be judged together.",
        "Withdraw some of them, or name fewer.",
    ),
    "TOGETHER_UNKNOWN": (
        "A release has no key by which its people can be compared.",
        "Name only releases with such a key.",
    ),
    "TOGETHER_UNRECOGNIZED": (
        "It is not certain that the releases are of the same people.",
        "Name only releases whose people are recognized.",
    ),
    "TRIAL_EXPIRED": ("The trial has expired.", "Make it again."),
    "UNDECIDED": (
        "A warning of the release must be decided, and the policy holds such a release back.",
        "Decide it: change the policy, or release without `hold_undecided`.",
    ),
    "UNPUBLISHED": (
        "The release stands, and a target did not take it.",
        "Look at the fault. Then run `tableveil publish` again.",
    ),
    "VALUES_REFUSED": (
        "PostgreSQL cannot hold some values of the release.",
        "Convert the columns that the faults name.",
    ),
    "VERIFICATION_FAILED": (
        "The check of the written rows found that they do not meet the policy. Nothing was released.",
        "Report it: search and verification disagree.",
    ),
    "WRITE_FAILED": ("The output could not be written.", "Check the path and the free space."),
}

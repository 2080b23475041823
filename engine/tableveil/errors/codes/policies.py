"""Error codes of policies, hierarchies and analyses."""

CODES = {
    "ALTERNATIVE_INVALID": ("The worksheet has no such policy.", "Choose one of the policies that were tried."),
    "K_INVALID": ("The k of a worksheet is no number of people.", "Write a whole number, from 1 on."),
    "PERSON_MISSING": (
        "Nobody has said who is a person, and k counts people.",
        "Say that every row is a different person, or name the column that numbers people.",
    ),
    "CLASSES_DO_NOT_FIT": ("The classes of the earlier release do not fit the table now.", "Release without them."),
    "CLASSIFICATION_INVALID": ("Classifiers cannot be assessed as asked.", "Correct what the faults name."),
    "COLLECTS_TOO_MUCH": (
        "The job would collect too many of the warehouse's rows or values.",
        "Use fewer columns, coarser labels, or a DuckDB table.",
    ),
    "COLUMN_DISCLOSES": (
        "A column that is released as it is gives away what labels hide.",
        "Make it a quasi-identifier, suppress it, or leave it out. The faults name both columns.",
    ),
    "COMPARISON_INVALID": ("The two hierarchies cannot be compared.", "Correct what the faults name."),
    "DOCUMENTATION_INVALID": (
        "A text for the report names no field of it.",
        "Write FIELD=TEXT with a field that the fault lists.",
    ),
    "DRAW_FAILED": (
        "The random draw failed. Nothing was released, and its privacy budget is spent.",
        "Submit again, if the budget allows it.",
    ),
    "FOLD_INFEASIBLE": (
        "For the training records of one fold nothing meets the policy.",
        "Ask without `choose_inside_folds`, or with more records.",
    ),
    "HIERARCHY_INVALID": ("The hierarchy has faults.", "Correct the rows or fields that the faults name."),
    "HIERARCHY_NOT_FOUND": (
        "There is no stored hierarchy of this name and version.",
        "Look at `tableveil hierarchies list`.",
    ),
    "HIERARCHY_TOO_LARGE": ("The hierarchy is larger than the server stores.", "Use a rule instead of rows."),
    "INFEASIBLE": ("Nothing meets the policy.", "Take one of the relaxations that the error lists."),
    "LABELS_AMBIGUOUS": ("Labels of different levels look alike.", "Change the labels that the faults name."),
    "LEVELS_GIVEN": (
        "The policy has levels of its own, beside the release whose levels were asked for.",
        "Leave out one of both.",
    ),
    "LEVELS_OF_NOTHING": ("The policy has no levels that could be taken over.", "Ask without it."),
    "LEVELS_OF_OTHER_COLUMNS": ("The release has other quasi-identifiers.", "Name a release of the same columns."),
    "LEVELS_OF_RECORDS": (
        "The release has levels for each record, not one transformation.",
        "Name a release by full-domain recoding.",
    ),
    "PEOPLE_REPEAT": (
        "A differentially private release needs one record for each person. The privacy budget is spent.",
        "Make a table with one record of each person.",
    ),
    "POLICY_INVALID": (
        "The policy has faults, or does not fit its tables.",
        "Correct every field that the faults name. `tableveil check-policy` lists them all.",
    ),
    "PREVIEW_INVALID": ("The hierarchy cannot be shown for this column.", "Correct what the faults name."),
    "PRIVACY_UNCOUNTABLE": ("A privacy model cannot be counted on this table as asked.", "Follow the hint."),
    "PROPOSAL_INVALID": ("Nothing can be proposed for this table as asked.", "Correct what the faults name."),
    "QUALITY_UNCOUNTABLE": (
        "The quality model cannot be counted on this table as asked.",
        "Follow the hint, or choose another quality model.",
    ),
    "REBUILD_FAILED": (
        "The release could not be built again from its source.",
        "Look into the server's log, and report it.",
    ),
    "RECORD_RISKS_NOT_KEPT": ("The analysis did not keep the risk of each record.", "Ask for one with records."),
    "RISK_INVALID": ("The risks cannot be analyzed as asked.", "Correct what the faults name."),
    "ROW_COUNT_WRONG": ("Fewer or more rows came than were announced.", "Send the hierarchy again."),
    "SOURCE_CHANGED": (
        "The source changed since it was counted, or since the release was made.",
        "Submit the job again.",
    ),
    "STORED_POLICY_UNREADABLE": (
        "This version cannot read the stored policy.",
        "Use the version that made the release.",
    ),
    "TOO_FEW_RECORDS": (
        "The table has fewer records than one class needs.",
        "Lower the threshold, or release more records together.",
    ),
    "TOO_MANY_TRANSFORMATIONS": (
        "The job tries all transformations, and there are too many.",
        "Use fewer levels or quasi-identifiers.",
    ),
    "UTILITY_INVALID": ("The utility cannot be measured as asked.", "Correct what the faults name."),
    "VALUES_UNPROTECTED": (
        "No choice protects the sensitive values as the policy asks.",
        "Take one of the relaxations that the error lists.",
    ),
    "WORKSHEETS_TOO_MANY": (
        "The table has as many worksheets as it may.",
        "Delete those that nobody needs by `tableveil worksheets delete`.",
    ),
    "WORKSHEET_CHANGED": (
        "Somebody changed the worksheet since you read it.",
        "Read it again, and repeat your change.",
    ),
    "WORKSHEET_INVALID": (
        "The worksheet has faults, or its etag is missing.",
        "Correct the fields that the faults name.",
    ),
    "WORKSHEET_NOT_FOUND": (
        "There is no such worksheet, or you may not see its table.",
        "Look at `tableveil worksheets list`.",
    ),
}

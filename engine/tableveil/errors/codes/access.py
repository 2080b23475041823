"""Error codes of who calls and what that caller may do."""

CODES = {
    "BUDGET_INVALID": (
        "The privacy budget has a wrong table, epsilon or delta.",
        "Correct the fields that the faults name.",
    ),
    "GRANTS_INVALID": (
        "The file of grants has faults.",
        "Correct the entries that the faults name. The server starts then.",
    ),
    "GRANT_FROM_FILE": ("The grant is from the server's file.", "Change the file, and start the server again."),
    "GRANT_INVALID": (
        "The grant has no role, no grantee, or a wrong scope.",
        "Correct the fields that the faults name.",
    ),
    "BUDGET_NOT_FOUND": ("These people have no privacy budget.", "Look at `tableveil privacy-budgets list`."),
    "RULE_NOT_FOUND": ("The schema has no rule, or you do not administer it.", "Look at `tableveil schemas rules`."),
    "GRANT_NOT_FOUND": ("There is no such grant.", "Look at `tableveil grants list`."),
    "HASH_INVALID": ("The text is no SHA-256.", "Give 64 hexadecimal digits in lower case."),
    "LOGIN_REFUSED": ("The provider did not sign you in.", "Begin again. If it stays so, ask the console's operator."),
    "NAMES_TOO_MANY": ("One call names too many objects.", "Use several calls."),
    "OWN_RELEASE": (
        "You made the release, so you cannot decide about it.",
        "Ask another approver. You can withdraw it.",
    ),
    "PERMISSION_DENIED": (
        "The caller has none of the roles that the call needs there.",
        "Ask an admin for a grant. `tableveil grants list` shows the present ones.",
    ),
    "QUEUE_FULL": ("As many jobs wait as may.", "Submit again when some have ended."),
    "RATE_LIMITED": (
        "The principal makes more calls than it may.",
        "Wait a moment. An operator can raise `--calls-per-principal`.",
    ),
    "REASON_MISSING": ("A withdrawal or decision has no reason.", "Say why, for the ledger."),
    "RULE_INVALID": ("The rule of the schema is invalid.", "Correct the field that the fault names."),
    "SESSIONS_TOO_MANY": ("Too many visitors are signed in.", "Try again later."),
    "TOKEN_FILE_INVALID": (
        "The file holds no token, or others may read it.",
        "Name the file that the server or `tokens create` wrote, with mode 0600.",
    ),
    "TOKEN_FILE_NOT_FOUND": ("There is no such token file.", "Check the path."),
    "TOKEN_INVALID": (
        "The text is no whole token, or the request for one has a wrong role, label or term.",
        "Copy the token again, or correct the request.",
    ),
    "TOKEN_MISSING": ("No token was entered.", "Paste your token, as the admin gave it to you."),
    "TOKEN_NOT_FOUND": ("There is no token of this number.", "Look at `tableveil tokens list`."),
    "TOKEN_TOLD": (
        "The request made a token before, and its text was told then; the server keeps a hash of it.",
        "Revoke that token, and make another by another request id.",
    ),
    "TOKEN_UNWRITABLE": (
        "The server cannot write its first token beside the database.",
        "Let the server's user write the directory.",
    ),
    "TOO_MANY_CALLS": ("The principal or the server has as many open calls as it may.", "End one of them first."),
    "TOO_MANY_CONNECTIONS": ("The principal has as many connections as it may.", "Close some of them."),
    "TOO_MANY_JOBS": ("As many jobs of the principal wait as may.", "Submit again when some have ended."),
    "TOO_MANY_QUERIES": ("As many queries run or wait as may.", "Try again when one has ended."),
    "UNAUTHENTICATED": (
        "The call has no token, or one that is wrong, expired or revoked.",
        "Name the file of a valid token by `--token-file` or `TABLEVEIL_TOKEN_FILE`. An admin makes a new one"
        " by `tableveil tokens create`.",
    ),
}

"""Error codes of calls, jobs, statements and queries."""

CODES = {
    "ANSWER_FORGOTTEN": (
        "The change with this request id was made. Its answer showed what was deleted since, or the server was stopped "
        "before it was kept.",
        "Look at what it changed.",
    ),
    "ARROW_INVALID": ("The bytes are no Arrow IPC stream.", "Send such a stream."),
    "CALL_FAILED": (
        "The call failed with a status that the client does not know.",
        "Check that client and server are of one version.",
    ),
    "CANCELLED": ("Somebody cancelled the job or the call.", "Submit again if you still want it."),
    "CLIENT_CLOSED": ("The client was closed, and asked something afterwards.", "Make another client."),
    "COMMAND_INVALID": ("The endpoint does not answer this command of Flight SQL.", "Use a driver's ordinary queries."),
    "DEADLINE": (
        "The server did not answer in time. It may have done what was asked.",
        "Look with `tableveil jobs` before you ask again.",
    ),
    "FILTER_INVALID": ("A filter of a list has a number that is no member.", "Use the members that the proto lists."),
    "HANDLE_INVALID": ("The handle is not of this endpoint.", "Prepare the statement again."),
    "INTERRUPTED": (
        "The server stopped before the job had ended. Nothing was written.",
        "Submit it again with the same request id.",
    ),
    "JOB_ACTIVE": ("The job has not ended.", "Wait for it, or cancel it first."),
    "JOB_NOT_FOUND": ("There is no such job, or it is not yours.", "Look at `tableveil jobs`."),
    "JOB_OF_RELEASE": ("The job made a release, and the ledger keeps it.", "Withdraw the release instead."),
    "LABELS_MISREAD": (
        "The query takes labels for values: it does more than compare, group and count them.",
        "Follow the hint. It names labels, a function of labels, or a table of estimated values.",
    ),
    "LABELS_TOO_WIDE": (
        "The query asks estimated values for a weekday, a month, an hour or a remainder, of which labels hold several.",
        "Truncate, such as with `date_trunc`, or ask for bands.",
    ),
    "MESSAGE_TOO_LARGE": (
        "The message is larger than the server takes.",
        "Store large hierarchies on the server instead of in the policy.",
    ),
    "NAME_INVALID": ("The name is no collection with a number.", "Write it as `releases/7`."),
    "NOTHING_TO_KEEP": (
        "The job has nothing yet that meets the policy, or is of a kind that keeps nothing.",
        "Watch it until it shows a best score, or cancel it.",
    ),
    "NOT_CONNECTED": ("The address or the TLS options cannot work.", "Correct the options that the faults name."),
    "NOT_READY": ("The server is stopping.", "Try again when it is up."),
    "NOT_TABLEVEIL": (
        "The server at this address does not know the call.",
        "Check the address, and that client and server are of one version.",
    ),
    "PAGE_SIZE_INVALID": ("The page size is negative or too large.", "Use a size within the bounds."),
    "PAGE_TOKEN_INVALID": ("This list did not give out the page token.", "Begin at the first page."),
    "PARAMETERS_INVALID": (
        "The parameters are no rows that fit the statement, or too many.",
        "Bind one value to each parameter.",
    ),
    "PARAMETERS_MISSING": ("The statement has parameters, and nothing is bound to them.", "Bind a value to each."),
    "QUERY_ENDED": ("The process of the query ended before its rows were read.", "Try again."),
    "QUERY_FAILED": ("The query failed inside the endpoint.", "Look into the endpoint's log."),
    "NO_SPREAD": (
        "The rows of the statement under several assumptions cannot be matched, or it reads no estimated table.",
        "Group the rows of a table whose name ends with `_estimated`, and select what you group by.",
    ),
    "QUERY_MEMORY": (
        "The query needs more memory or disk than one may take.",
        "Ask for less, or raise `--query-memory`.",
    ),
    "QUERY_TIME": ("The query took longer than one may.", "Ask for less, or raise `--query-seconds`."),
    "READ_INVALID": (
        "Released rows cannot be read into that: it is not known, or not installed.",
        "Install the library that the error names, or read into arrow.",
    ),
    "RELEASE_GONE": ("The release was replaced or removed while the query began.", "Try again."),
    "REQUEST_RUNNING": ("A request with this request id is being handled.", "Ask again when it has ended."),
    "REQUEST_ID_INVALID": ("The request id is too long, or has control characters.", "Use a short printable text."),
    "REQUEST_ID_REUSED": (
        "Another request had this request id, or a load of other content, such as that of a file which was repaired.",
        "Give each request an id of its own. To go on with a load that stands, bind the release to it.",
    ),
    "REQUEST_INVALID": ("The job cannot be made again from its stored request.", "Submit a new request."),
    "REQUEST_MALFORMED": (
        "The bytes are not the message that the method takes.",
        "Use the protos of the server's version.",
    ),
    "RESULT_TOO_LARGE": (
        "The result is larger than one may be.",
        "Ask for fewer rows or columns, or raise `--query-result`.",
    ),
    "SERVICE_GONE": (
        "The endpoint could not ask the service who you are.",
        "Try again. If it stays so, the operator looks after the service or the endpoint's token.",
    ),
    "STATEMENT_FAILED": ("The database could not run the query.", "Correct the statement."),
    "STATEMENT_INVALID": (
        "The statement cannot be read, or asks for more than statements may.",
        "Correct the place that the fault names.",
    ),
    "STREAM_ENDED": ("The server ended the stream before the job had ended.", "Watch the job again."),
    "STREAM_INCOMPLETE": ("The stream of rows was cut off. Nothing was loaded.", "Load again."),
    "UNREACHABLE": (
        "No server answers at this address.",
        "Start one with `tableveil serve`, or name another by `--server`.",
    ),
    "VALUES_INVALID": ("The number of values asked for is out of bounds.", "Ask for fewer."),
}

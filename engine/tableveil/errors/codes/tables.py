"""Error codes of tables, and of files and rows that are loaded."""

CODES = {
    "COLUMNS_DIFFER": (
        "The columns of a file are not those of the table, or of the other files.",
        "Bring them to the same names and types, or replace the table.",
    ),
    "COLUMNS_INVALID": (
        "Names of columns are empty, repeated, or not usable.",
        "Rename the columns that the faults list.",
    ),
    "COLUMNS_TOO_MANY": (
        "The table has more columns than a load may have.",
        "Load fewer columns, or raise `--most-columns`.",
    ),
    "COLUMN_NOT_FOUND": ("There is no such column.", "Correct the name. The hint has the nearest one."),
    "CONSTRAINT_BROKEN": ("Rows break a constraint of the table.", "Correct the rows, or replace the table."),
    "CSV_CENTURY": (
        "Nobody said which century years of two digits are in, or some days are not in the one that was said.",
        "State the last year that they mean: `--century-pivot COLUMN=YEAR`.",
    ),
    "CSV_CUT": (
        "The last line has no line end, and `--whole-last-line` refuses that: the file may be cut off.",
        "Get the whole file.",
    ),
    "CSV_DELIMITER": (
        "The header shows one column, with what looks like another delimiter in its name.",
        "Give `--delimiter`.",
    ),
    "CSV_EMPTY": ("The file has no line.", "Give a file with at least a header."),
    "CSV_ENCODING": ("The file is not in the encoding that was stated or guessed.", "Give `--encoding`."),
    "CSV_FORMAT": (
        "The options of the CSV format contradict each other or are too long.",
        "Correct the options that the faults name.",
    ),
    "CSV_INVALID": ("A quoted name in the header does not end.", "Correct the quotes, or give `--quote`."),
    "CSV_LINES_REJECTED": (
        "Lines do not have one value of its type for every column. Nothing was loaded.",
        "Correct the lines that the faults name, or let a few be left out by `--max-rejected`.",
    ),
    "CSV_NUL": ("A text holds a NUL character, which the database cannot keep.", "Write the file anew without it."),
    "CSV_ROUNDED": ("A number has more digits than its type.", "State a wider type, or load it as text."),
    "CSV_TYPES": ("A stated type does not fit its column.", "State another type."),
    "CSV_UNREADABLE": (
        "The file cannot be read as CSV, or its compression is damaged.",
        "Write the file again, with lines that all end alike.",
    ),
    "DRAFT_INVALID": ("No policy can be drafted from this table as asked.", "Correct what the faults name."),
    "FILE_CHANGED": (
        "The file was changed, moved or replaced while it was read. Nothing was loaded.",
        "Load again when it is written.",
    ),
    "FILE_MISSING": ("No file was chosen.", "Choose a CSV or Parquet file."),
    "FILE_NOT_FOUND": ("The load directory has no such file.", "Check the path. It is relative to the load directory."),
    "FILE_PACKED": (
        "A packed file is unreasonably large when it is unpacked.",
        "Unpack it, or load it with the client.",
    ),
    "FILE_UNREADABLE": ("The file cannot be read.", "Check its path, owner, mode and encoding."),
    "GUARDED": (
        "A guard holds back rows that would take the place of better ones.",
        "Look at the rows. Then change the guard, or say that an empty table is meant.",
    ),
    "LOADING_NOT_ALLOWED": (
        "This server reads no files of that place.",
        "Let the client send the file, or start the server with `--load-directory`.",
    ),
    "LOAD_FAILED": ("The file could not be loaded.", "Read the faults beside it."),
    "LOAD_INVALID": ("The request of the load contradicts itself.", "Correct the fields that the faults name."),
    "LOAD_NOT_FOUND": ("There is no such load.", "Look at `tableveil loads`."),
    "LOAD_RUNNING": ("A load with this request id runs.", "Ask again when it has ended."),
    "LOAD_SUPERSEDED": (
        "The table changed after the load that the policy names.",
        "Name the newest load, or leave it out.",
    ),
    "LOAD_UNUSED": ("A load was named where none counts.", "Leave it out."),
    "MODE_INVALID": ("The mode of the load is none of those that there are.", "Choose create, append or replace."),
    "OBJECT_NOT_FOUND": ("The release has no such object.", "The hint lists its objects."),
    "PARQUET_UNREADABLE": ("The file is no whole Parquet file.", "Write it again."),
    "PATH_EXISTS": (
        "There is something where the output would be written.",
        "Choose another path, or give `--overwrite`.",
    ),
    "PATH_INVALID": ("A path has a character that the database cannot take.", "Rename the file."),
    "PATH_NOT_AN_EXPORT": (
        "The place holds something that no export wrote, so it is not overwritten.",
        "Choose another path.",
    ),
    "PATH_NOT_FOUND": ("The path's directory does not exist.", "Make the directory."),
    "PERSONS_INVALID": (
        "Some persons are no values of the person column, or there are none or too many. Nothing was erased.",
        "Give each as the table shows it.",
    ),
    "PERSON_COLUMN_UNKNOWN": ("Nothing says which column identifies a person.", "Name the column."),
    "POSTGRESQL_MISSING": ("The driver of PostgreSQL is not installed.", "Run `pip install 'tableveil[postgresql]'`."),
    "POSTGRESQL_PASSWORD": (
        "The URL holds a password, which others could read.",
        "Set PGPASSWORD, or use a password file.",
    ),
    "POSTGRESQL_REFUSED": ("PostgreSQL refuses the query.", "Correct the query, the rights or the password."),
    "POSTGRESQL_SOURCE": ("A table and a query were given, or neither.", "Give one of them."),
    "POSTGRESQL_TYPES": ("Columns have types that cannot be loaded.", "Convert them in a `--query`."),
    "POSTGRESQL_UNREACHABLE": (
        "PostgreSQL does not answer, or the connection broke off. Nothing was loaded.",
        "Check the URL, then load again.",
    ),
    "POSTGRESQL_VALUES": (
        "A column has values that the database cannot hold.",
        "Leave them out or make them NULL in a `--query`.",
    ),
    "PRIVACY_INVALID": ("The declared privacy of the table is invalid.", "Correct the fields that the faults name."),
    "PRIVACY_NOT_FOUND": ("Nobody declared the privacy of this table.", "Declare it by `ALTER TABLE … SET PRIVACY`."),
    "ROWS_MISSING": (
        "Fewer rows came than the file or the query has. Nothing was loaded.",
        "Write the file again. A query must give the same rows each time.",
    ),
    "SOURCE_QUERY_FAILED": ("The source query fails on the rows that are there.", "Correct the query."),
    "TABLE_HAS_DEPENDANTS": ("Views read the table.", "Drop the views first."),
    "TABLE_INVALID": ("There can be no such table.", "Correct the name."),
    "TABLE_IN_USE": ("An unfinished job reads the table.", "Wait until the job has ended, or cancel it."),
    "TABLE_MISSING": ("No table was named.", "Name one, such as `visits` or `clinic.visits`."),
    "TABLE_NEEDED": ("The hierarchy depends on a table, and none was named.", "Name the table."),
    "TABLE_NOT_FOUND": (
        "There is no such table, or you may not see it.",
        "Check the name, or ask an admin for a grant.",
    ),
    "TABLE_RELEASED": ("A release wrote the table, so nothing else may write it.", "Load into another table."),
    "TEXT_INVALID": ("A text of the table is not UTF-8.", "Convert the column by `decode()` in a source query."),
    "TOO_MANY_COMBINATIONS": (
        "The quasi-identifiers have more combinations of values than can be analyzed.",
        "Leave out columns that tell nearly everybody apart, or analyze a sample.",
    ),
    "TOO_MANY_RECORDS": (
        "The table has more records than an analysis of risks takes.",
        "Analyze a sample, and state its sampling fraction.",
    ),
    "TYPES_INVALID": ("A column has a type that cannot be loaded.", "Convert the columns that the faults name."),
    "UPLOADS_TOO_MANY": ("Too many uploaded files of one principal wait.", "Load or discard one of them."),
    "UPLOAD_NOT_FOUND": ("The session has no such file any more.", "Upload it again."),
    "VALUES_DO_NOT_FIT": ("Values do not fit the columns of the table.", "Correct the values, or replace the table."),
    "WAREHOUSE_TABLE_CHANGED": (
        "A table, column or file of the warehouse is gone or changed.",
        "Submit the job again when the tables stay as they are.",
    ),
    "WAREHOUSE_TABLE_EXISTS": (
        "The warehouse has a table, or a directory, of this name.",
        "Choose another name, or remove it yourself.",
    ),
}

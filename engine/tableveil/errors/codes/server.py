"""Error codes of servers: files, addresses, databases, warehouses, backups."""

CODES = {
    "ADDRESS_INVALID": (
        "The address is no host with a port, and no socket file.",
        "Write it as `127.0.0.1:50651` or `unix:/run/tableveil/socket`.",
    ),
    "ADDRESS_IN_USE": (
        "Another process listens at this address.",
        "Stop the other process, or choose another address.",
    ),
    "ADDRESS_PLAINTEXT": (
        "Other machines reach the address, and it would carry tokens and rows unencrypted.",
        "Give a certificate and its key, or `--plaintext` if a proxy ends TLS.",
    ),
    "ADDRESS_REMOTE": (
        "Other machines reach the address, and nobody allowed it.",
        "Listen on 127.0.0.1, or give `--allow-remote`.",
    ),
    "ADDRESS_UNUSABLE": (
        "This machine has no such address, or the process may not use the port.",
        "Choose an address of this machine and a port above 1023.",
    ),
    "AUDIT_DAMAGED": (
        "The audit's file does not end with an entry, or entries are gone from it.",
        "Keep the file for an examination and move it away. The server begins another.",
    ),
    "AUDIT_LOCKED": ("Another process writes the audit's file.", "Give each server an audit file of its own."),
    "AUDIT_UNAVAILABLE": (
        "The call could not be recorded, so the server refuses it.",
        "Free space where the audit's file is, or repair its mode. Then try again.",
    ),
    "AUDIT_UNUSABLE": (
        "The server cannot open the audit's file for writing.",
        "Check the path, its owner and its mode.",
    ),
    "BACKUPS_OFF": ("The server has no directory for backups.", "Start it with `--backup-directory`."),
    "BACKUP_DAMAGED": ("The backup cannot be read from end to end.", "Restore another backup."),
    "BACKUP_DIFFERS": (
        "The copy is not equal to the database. It was removed.",
        "Make the backup again. If it happens again, run `tableveil doctor` and report it.",
    ),
    "BACKUP_DIRECTORY": (
        "The directory for backups is missing, or the server may not write it.",
        "Make it, and give it to the server's user.",
    ),
    "BACKUP_EXISTS": ("A backup has this name.", "Choose another name. Nothing is ever overwritten."),
    "BACKUP_IN_USE": (
        "There is a log beside the backup, so somebody opened it.",
        "Close it there, or restore another backup.",
    ),
    "BACKUP_KEEP_INVALID": ("`--keep` is below 1.", "Keep at least the backup that is made now."),
    "BACKUP_NAME_INVALID": (
        "The backup's name is no plain file name.",
        "Use letters, digits, dots, hyphens and underscores.",
    ),
    "SCHEMA_NOT_FOUND": ("There is no such schema that you see.", "Correct the name. The hint has the nearest one."),
    "BACKUP_NOT_FOUND": ("There is no such backup file.", "Check the path."),
    "BACKUP_RUNNING": ("The server makes another backup now.", "Wait for it."),
    "CERTIFICATE_EXPIRED": (
        "The certificate has expired.",
        "Put a renewed one in its place, and check the machine's clock.",
    ),
    "CERTIFICATE_INVALID": ("The file holds no certificate that can be read.", "Give a file with certificates in PEM."),
    "CERTIFICATE_KEY_MISMATCH": (
        "The private key belongs to another certificate.",
        "Name the files that were issued together.",
    ),
    "CERTIFICATE_NAMES_INVALID": (
        "A mapping of certificate names to principals is malformed, or names one twice.",
        "Write each as `dns:etl.clinic.example=etl`.",
    ),
    "CERTIFICATE_NOT_VALID_YET": (
        "The certificate begins to be valid later.",
        "Check the machine's clock, or wait until the certificate is valid.",
    ),
    "COMMIT_LOST": (
        "A commit reported success and left nothing behind.",
        "Run `tableveil doctor`, then submit the job again.",
    ),
    "CONFIG_INVALID": (
        "The configuration file is no TOML, has a key that is no option, or a value of another type.",
        "Correct the keys that the faults name.",
    ),
    "CONFIG_NOT_FOUND": ("There is no such configuration file.", "Check the path after `--config`."),
    "CONSOLE_MISSING": ("The packages of the console are not installed.", "Run `pip install 'tableveil[console]'`."),
    "DATABASE_ERROR": (
        "The database refused a statement for a reason that nobody foresaw.",
        "Look for the line in the server's log, and report it.",
    ),
    "DATABASE_EXISTS": ("There is a file where a new database would be written.", "Choose another path."),
    "DATABASE_INVALIDATED": (
        "The database failed, and only a restart opens it again.",
        "Start the server again. Nothing that was committed is lost.",
    ),
    "DATABASE_LOCKED": (
        "Another process has the database file open.",
        "Stop that process, or connect to the server that owns the file.",
    ),
    "DATABASE_NAME": ("The database file has the name of the server's own schema.", "Rename the file."),
    "DATABASE_REPLACED": (
        "The file was moved, deleted or replaced while the server had it open.",
        "Make a backup, stop the server, and put the backup in the place.",
    ),
    "DATABASE_TOO_NEW": ("A newer version of Tableveil wrote the database.", "Upgrade this installation."),
    "DATABASE_TOO_OLD": (
        "A build of Tableveil from before 0.1.0 wrote the database.",
        "Start the build that the error names with it once, then this one.",
    ),
    "DATABASE_UNREADABLE": (
        "The file is no DuckDB database, or cannot be opened.",
        "Check the path, its owner and its mode.",
    ),
    "DATABASE_UNWRITABLE": (
        "The new database cannot be written there.",
        "Choose a path in an existing directory that you may write.",
    ),
    "DIRECTORY_INVALID": ("The directory of published releases does not exist.", "Make it, or correct `--published`."),
    "DISK_FULL": (
        "A file system has too little room, or the database may spill no more.",
        "Free space beside the database, or raise `--spill-limit`. Then try again: nothing was half-written.",
    ),
    "FILE_UNWRITABLE": (
        "A file of the server could not be written.",
        "Check its directory, its mode and the free space.",
    ),
    "FUNCTION_UNSUPPORTED": (
        "Spark has no counterpart of a function that the job needs.",
        "Report it. Use a DuckDB table meanwhile.",
    ),
    "GROUP_INVALID": (
        "The group of the socket file does not exist, or the server's user is not in it.",
        "Name a group of the server's user.",
    ),
    "INTERNAL": (
        "The server met a defect.",
        "Look for the correlation id in the server's log, and report it. The log holds no values.",
    ),
    "JAVA_MISSING": ("A local Spark needs Java 17 or newer.", "Install Java, or name a Spark Connect server."),
    "KEYS_INVALID": (
        "The provider's key set cannot be read, or its URL is not secure.",
        "Give a file, an https URL, or http on this machine.",
    ),
    "KEY_EXPOSED": (
        "Every account of the machine can read the private key.",
        "Run `chmod o= FILE`. If others may have read it, issue another.",
    ),
    "KEY_INVALID": ("The file holds no private key in PEM without a password.", "Give such a file."),
    "LEDGER_UNFIT": (
        "The file given by `--ledger` lacks entries that the backup has.",
        "Name a newer file of the same database.",
    ),
    "NAMES_INVALID": ("The certificates cannot be made for these names.", "Correct the names that the faults list."),
    "NOT_CREATED": ("A commit reported success and left nothing behind.", "Run `tableveil doctor`, then try again."),
    "NOT_LOADED": ("The commit of a load left nothing behind.", "Run `tableveil doctor`, then load again."),
    "NOT_REMOVED": ("The commit of a removal left nothing behind.", "Run `tableveil doctor`, then try again."),
    "OPENID_INCOMPLETE": (
        "Only some of the console's options for OpenID Connect were given.",
        "Give issuer, client and redirect together.",
    ),
    "OUT_OF_MEMORY": (
        "A statement does not fit into the memory limit, even by spilling.",
        "Raise `--memory-limit`, or run fewer jobs at once.",
    ),
    "PROVIDER_INVALID": (
        "The OpenID Connect provider calls itself by another name.",
        "Set the issuer to the provider's own name.",
    ),
    "PROVIDER_UNREACHABLE": (
        "The OpenID Connect provider does not answer.",
        "Try again later, or sign in with a token.",
    ),
    "RESTORE_UNFINISHED": (
        "The new database could not be folded into one file, so it was removed.",
        "Free space, then restore again.",
    ),
    "SCHEMA_EXISTS": ("A schema has this name.", "Choose another name, or use the schema."),
    "SCHEMA_INVALID": ("The name is reserved, or no name of a schema.", "Choose a plain name."),
    "SETTINGS_INVALID": ("The server cannot start with these settings.", "Correct the settings that the faults name."),
    "SETTING_INVALID": (
        "The database refused one of its settings.",
        "Correct `--memory-limit`, `--spill-limit` or `--threads`.",
    ),
    "SPARK_MISSING": (
        "The client of Spark Connect, or PySpark, is not installed.",
        "Run `pip install 'tableveil[spark]'`.",
    ),
    "STOPPING": ("The server or the endpoint is stopping.", "Try again when it is up."),
    "SYSLOG_INVALID": (
        "The address of syslog is neither a socket nor a host with a port.",
        "Write it as `/dev/log` or `host:514`.",
    ),
    "TARGET_INVALID": (
        "A declaration of `--publish` is malformed, repeated, or names no directory.",
        "Write it as `shelf=directory:/srv/published`.",
    ),
    "TLS_INCOMPLETE": (
        "A certificate has no key, a key no certificate, or their authority is missing.",
        "Give the options that belong together.",
    ),
    "TLS_MISSING": (
        "Other machines reach the address, and it has no certificate.",
        "Give `--tls-certificate` and `--tls-key`.",
    ),
    "TRIAL_FAILED": ("The process that tries source queries failed.", "Look into the server's log, then try again."),
    "WAREHOUSE_DENIED": (
        "Spark may not read or write a table or path.",
        "Give rights to the user that runs the Spark Connect server.",
    ),
    "WAREHOUSE_DISK_FULL": ("Spark has no space left on a disk.", "Free space on its machines, then submit again."),
    "WAREHOUSE_ERROR": (
        "Spark refused a statement for a reason that nobody foresaw.",
        "Look into the logs of Spark and of the server.",
    ),
    "WAREHOUSE_INVALID": (
        "A declaration of `--warehouse` is malformed, or repeats a name.",
        "Write it as `lake=sc://spark.example:15002`.",
    ),
    "WAREHOUSE_OLD": ("The Spark server is older than Tableveil supports.", "Upgrade Spark."),
    "WAREHOUSE_OUT_OF_MEMORY": (
        "A statement does not fit into the memory of Spark's driver or executors.",
        "Give Spark more memory or more executors.",
    ),
    "WAREHOUSE_REFUSED": (
        "The Spark Connect server refuses the connection.",
        "Give its token in the warehouse's address or in `SPARK_CONNECT_AUTHENTICATE_TOKEN`.",
    ),
    "WAREHOUSE_UNAVAILABLE": (
        "The warehouse does not answer, or the server was started without it.",
        "Start Spark, or start the server with `--warehouse`. Then try again.",
    ),
    "WRITE_CONFLICT": ("Another transaction changed the same objects.", "Submit the job again."),
}

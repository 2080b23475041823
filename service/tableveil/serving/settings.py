"""The operator's settings of the server, and its fixed limits."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from tableveil.errors import Fault, InvalidError, shortened
from tableveil.loading import MOST_COLUMNS, LoadDirectory
from tableveil.serving.address import DEFAULT_ADDRESS, Listening
from tableveil.serving.setting import Setting
from tableveil.serving.tls import TlsFiles

LARGEST_MESSAGE = 16 * 2**20
"""Bytes of the largest request message; gRPC itself refuses larger ones, with RESOURCE_EXHAUSTED and this number."""

LARGE_REQUEST = 2**20
"""Bytes beyond which the requests of a principal are read and converted a few at a time."""

HEALTH_THREADS = 64
"""Threads of health checks, for which a caller needs no token: they hold none that others need."""

HEALTH_MESSAGES = 16
"""Messages of health checks that are received at once, each up to the largest, and as many answers to watchers that
wait to be taken: beyond them, the oldest gives way.
"""

HEALTH_QUEUE = 500
"""Health checks that wait for one of their threads: beyond them, checks are refused."""

HEALTH_WATCHES = 1000
"""Callers who watch the health, without a token: beyond them, the one that watches longest is let go."""

IDLE_READERS = 64
"""Connections at the address of metrics that have not asked yet: beyond them, the oldest is closed."""

MOST_CALLS = 4000
"""Calls that run or wait for a thread. A stranger's call waits for the moment that it takes to refuse it."""

STREAMS_PER_CONNECTION = 100
"""Calls that a connection has at once. gRPC's clients keep others back until one ends."""

RESERVED_THREADS = 16
"""Threads that streams never hold: for unary calls and health checks."""

FILES_FOR_CONNECTIONS = 0.5
"""The part of the files that the process may have open which connections take at most, those of strangers among them.

The rest is for the database, its spill files and the audit.
"""

CHECKS_AT_ONCE = 2
"""Checks of policies against the database, which read the whole source."""

UPLOADS_AT_ONCE = 4
"""Hierarchies that are being received, each up to the limits below."""

REPORTS_AT_ONCE = 2
"""Reports that are being made: the first of a release reads its rows, and a PDF takes seconds."""

LOADS_AT_ONCE = 4
"""Tables that are being loaded."""

MOST_HIERARCHY_ROWS = 5_000_000
LARGEST_HIERARCHY = 512 * 2**20

LARGEST_PAGE = 3 * 2**20
"""Bytes after which a page of a list ends early: clients accept 4 MiB unless told otherwise."""

STREAM_IDLE_SECONDS = 300.0
"""How long a stream waits for a client that does not read the requested data, or does not continue an upload."""

STOP_SECONDS = 7.0
"""How long a stopping server waits for running jobs.

They end within half a second unless they are being committed; supervisors may lose patience after ten.
"""

STOP_LIMIT_SECONDS = 10.0
"""The process ends after this time even if work still runs: a call that hangs in the database cannot be waited for."""

CALL_GRACE_SECONDS = 1.0
"""How long calls may go on once all jobs have ended."""

_MODE = re.compile(r"0?[67][0-7]{2}")


class LogFormat(StrEnum):
    """How the log is written: lines for people, or one JSON object a line for machines."""

    CONSOLE = "console"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """The options of `tableveil serve`: the command is made of them.

    `memory_limit` and `spill_limit` are in DuckDB's notation ("2GiB"); None means its default, and half of the free
    disk. `threads` are the database's, None means all. `stream_limit` limits how many clients watch jobs, read objects
    or upload hierarchies at once. Each principal may make so many calls a second, hold so many streams and loads, and
    have so many jobs that wait and that run; None means that as many may run as of all principals together.

    The audit is written to the `audit_file`, None for one beside the database, and also to the address of a syslog.

    For addresses, TLS and sockets see `Listening`; `certificate_principals` are entries for `principals_of`, and
    `socket_mode` is octal. Tokens of an OpenID Connect provider are accepted by what `oidc_keys`, a file or URL, holds.

    Files may be loaded only from the `load_directories`, and backups written only to the `backup_directory`. Ended jobs
    and their results, except current releases, are deleted after `keep_days`; None keeps them. Releases into the
    schemas `needs_approval` wait until another person approves them; `*` stands for every schema. `publish` declares
    targets: see `declared_targets`; `warehouses` places of rows beside the database: see `declared_warehouses`.
    """

    database: Annotated[Path, Setting("The DuckDB file that holds the tables; the server alone has it open.")]
    addresses: Annotated[tuple[str, ...], Setting("Where to listen; may be repeated.", "address")] = (DEFAULT_ADDRESS,)
    allow_remote: Annotated[bool, Setting("Allow an address that other machines reach; it needs TLS.")] = False
    plaintext: Annotated[bool, Setting("Allow it without TLS, which a proxy in front of the server ends.")] = False
    tls_certificate: Annotated[Path | None, Setting("The server's certificate in PEM; then its ports speak TLS.")] = (
        None
    )
    tls_key: Annotated[Path | None, Setting("The key of the certificate, which others must not be able to read.")] = (
        None
    )
    tls_client_ca: Annotated[Path | None, Setting("Authorities whose certificate every client of a port needs.")] = None
    certificate_principals: Annotated[
        tuple[str, ...],
        Setting(
            "The principal of a client certificate, by a name in it, such as dns:etl.clinic.example=etl; may be "
            "repeated.",
            "certificate_principal",
            "NAME=PRINCIPAL",
        ),
    ] = ()
    socket_mode: Annotated[str, Setting("The mode of a socket file.")] = "0600"
    socket_group: Annotated[str | None, Setting("The group of a socket file; the server's user has to be in it.")] = (
        None
    )
    metrics_address: Annotated[
        str | None,
        Setting(
            "Answer there to monitoring (/metrics) and to probes (/healthz, /readyz), without TLS or a token.",
            metavar="HOST:PORT",
        ),
    ] = None
    oidc_issuer: Annotated[str | None, Setting("Accept tokens of this OpenID Connect provider.")] = None
    oidc_audience: Annotated[str | None, Setting("Their audience: this server.")] = None
    oidc_keys: Annotated[str | None, Setting("The provider's JSON Web Key Set.", metavar="FILE_OR_URL")] = None
    oidc_name_claim: Annotated[str, Setting("The claim that names the principal.")] = "sub"
    oidc_groups_claim: Annotated[str, Setting("The claim that lists its groups.")] = "groups"
    memory_limit: Annotated[
        str | None, Setting("Memory of the database, such as 2GiB; it spills beyond.", metavar="SIZE")
    ] = None
    spill_limit: Annotated[
        str | None, Setting("Disk space for spilling; by default half of the free space.", metavar="SIZE")
    ] = None
    threads: Annotated[int | None, Setting("Threads of the database.")] = None
    concurrent_jobs: Annotated[int, Setting("Jobs at a time.")] = 2
    queue_limit: Annotated[int, Setting("Jobs that may wait.")] = 1000
    stream_limit: int = 64
    calls_per_principal: Annotated[
        int, Setting("Calls of a principal a second; those of five seconds may come at once.")
    ] = 200
    most_columns: Annotated[int, Setting("Columns of a table that is loaded.")] = MOST_COLUMNS
    streams_per_principal: Annotated[
        int, Setting("Streams of a principal that are open at once: watching, exports and uploads.")
    ] = 32
    loads_per_principal: Annotated[int, Setting("Tables that a principal loads at once.")] = 2
    queued_per_principal: Annotated[int, Setting("Jobs of a principal that may wait.")] = 500
    running_per_principal: Annotated[int | None, Setting("Jobs of a principal at a time; without it, all places.")] = (
        None
    )
    load_directories: Annotated[
        tuple[LoadDirectory, ...],
        Setting(
            "Where stewards of the schema, or of main, may load files from; may be repeated.",
            "load_directory",
            "[SCHEMA=]DIRECTORY",
            read=LoadDirectory.read,
        ),
    ] = ()
    grants: Annotated[
        Path | None,
        Setting("A YAML file of grants, read at the start: commands add to it, and cannot change what is in it."),
    ] = None
    backup_directory: Annotated[
        Path | None, Setting("Where `tableveil backup` may write; without one there are no backups.", is_directory=True)
    ] = None
    keep_days: Annotated[
        int | None,
        Setting(
            "Delete ended jobs with what they found after so many days, other than releases; without it they stay."
        ),
    ] = None
    audit_file: Annotated[
        Path | None, Setting("Where each call is recorded; by default FILE.audit.jsonl beside the database.")
    ] = None
    audit_syslog: Annotated[
        str | None, Setting("Also to syslog: a socket such as /dev/log, or host:port.", metavar="ADDRESS")
    ] = None
    needs_approval: Annotated[
        tuple[str, ...],
        Setting(
            "Keep releases into this schema private until another person approves them; * is every schema; may be "
            "repeated.",
            metavar="SCHEMA",
        ),
    ] = ()
    publish: Annotated[
        tuple[str, ...],
        Setting(
            "A place that releases may be published to, such as shelf=directory:/srv/published; may be repeated.",
            metavar="NAME=TARGET",
        ),
    ] = ()
    warehouses: Annotated[
        tuple[str, ...],
        Setting(
            "A place beside the database that tables may be in, such as lake=sc://spark.example:15002; lake=local "
            "starts a Spark for a try-out; may be repeated.",
            "warehouse",
            "NAME=ADDRESS",
        ),
    ] = ()
    log_format: Annotated[LogFormat, Setting("The log on stderr: lines for people, or a JSON object each.")] = (
        LogFormat.CONSOLE
    )

    @property
    def listening(self) -> Listening:
        """Where the server listens."""
        tls = None
        if self.tls_certificate and self.tls_key:
            tls = TlsFiles(self.tls_certificate, self.tls_key, self.tls_client_ca)
        mode = int(self.socket_mode, 8)
        return Listening(self.addresses, self.allow_remote, self.plaintext, tls, mode, self.socket_group)

    def check(self) -> None:
        """Raises `InvalidError` with every number that is too small and options that do not fit each other."""
        faults = [*self._faults(), *self._faults_of_tls(), *self._faults_of_provider()]
        if faults:
            raise InvalidError.about("SETTINGS_INVALID", "the server cannot start with these settings", faults)

    def _faults(self) -> Iterator[Fault]:
        for field in fields(self):
            number = getattr(self, field.name)
            if type(number) is int and number < 1:
                yield Fault(field.name, str(number), "at least 1")
        for directory in self.load_directories:
            if not directory.path.is_dir():
                yield Fault("load_directories", shortened(str(directory.path)), "an existing directory")
        if not _MODE.fullmatch(self.socket_mode):
            yield Fault("socket_mode", shortened(self.socket_mode), "a mode such as 0660, by which its owner may write")

    def _faults_of_tls(self) -> Iterator[Fault]:
        if bool(self.tls_certificate) != bool(self.tls_key):
            missing, other = ("tls_key", "certificate") if self.tls_certificate else ("tls_certificate", "key")
            yield Fault(missing, "none", f"the file that belongs to the {other}")
        if self.tls_client_ca and not self.tls_certificate:
            yield Fault("tls_client_ca", "no certificate of the server", "tls_certificate and tls_key as well")
        if self.certificate_principals and not self.tls_client_ca:
            yield Fault("certificate_principal", "no authority of clients", "tls_client_ca as well")
        if self.plaintext and self.tls_certificate:
            yield Fault("plaintext", "a certificate as well", "either TLS here or TLS in a proxy")

    def _faults_of_provider(self) -> Iterator[Fault]:
        needed = ("oidc_issuer", "oidc_audience", "oidc_keys")
        missing = [name for name in needed if not getattr(self, name)]
        if len(missing) < len(needed):
            yield from (Fault(name, "none", f"all of {', '.join(needed)}, or none of them") for name in missing)

"""The command `serve`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tableveil.cli.configuration import CONFIG
from tableveil.cli.output import Output
from tableveil.client import DEFAULT_ADDRESS

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@CONFIG
@click.option(
    "--database",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="The DuckDB file that holds the tables; the server alone has it open.",
)
@click.option(
    "--address", multiple=True, default=[DEFAULT_ADDRESS], show_default=True, help="Where to listen; may be repeated."
)
@click.option("--allow-remote", is_flag=True, help="Allow an address that other machines reach; it needs TLS.")
@click.option("--plaintext", is_flag=True, help="Allow it without TLS, which a proxy in front of the server ends.")
@click.option("--tls-certificate", type=_FILE, help="The server's certificate in PEM; then its ports speak TLS.")
@click.option("--tls-key", type=_FILE, help="The key of the certificate, which others must not be able to read.")
@click.option("--tls-client-ca", type=_FILE, help="Authorities whose certificate every client of a port needs.")
@click.option(
    "--certificate-principal",
    multiple=True,
    metavar="NAME=PRINCIPAL",
    help="The principal of a client certificate, by a name in it, such as dns:etl.clinic.example=etl; may be repeated.",
)
@click.option("--socket-mode", default="0600", show_default=True, help="The mode of a socket file.")
@click.option("--socket-group", help="The group of a socket file; the server's user has to be in it.")
@click.option(
    "--metrics-address",
    metavar="HOST:PORT",
    help="Answer there to monitoring (/metrics) and to probes (/healthz, /readyz), without TLS or a token.",
)
@click.option("--oidc-issuer", help="Accept tokens of this OpenID Connect provider.")
@click.option("--oidc-audience", help="Their audience: this server.")
@click.option("--oidc-keys", metavar="FILE_OR_URL", help="The provider's JSON Web Key Set.")
@click.option("--oidc-name-claim", default="sub", show_default=True, help="The claim that names the principal.")
@click.option("--oidc-groups-claim", default="groups", show_default=True, help="The claim that lists its groups.")
@click.option("--memory-limit", metavar="SIZE", help="Memory of the database, such as 2GiB; it spills beyond.")
@click.option("--spill-limit", metavar="SIZE", help="Disk space for spilling; by default half of the free space.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads of the database.")
@click.option("--concurrent-jobs", type=click.IntRange(min=1), default=2, show_default=True, help="Jobs at a time.")
@click.option("--queue-limit", type=click.IntRange(min=1), default=1000, show_default=True, help="Jobs that may wait.")
@click.option(
    "--calls-per-principal",
    type=click.IntRange(min=1),
    default=200,
    show_default=True,
    help="Calls of a principal a second; those of five seconds may come at once.",
)
@click.option(
    "--most-columns",
    type=click.IntRange(min=1),
    default=4000,
    show_default=True,
    help="Columns of a table that is loaded.",
)
@click.option(
    "--streams-per-principal",
    type=click.IntRange(min=1),
    default=32,
    show_default=True,
    help="Streams of a principal that are open at once: watching, exports and uploads.",
)
@click.option(
    "--loads-per-principal",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    help="Tables that a principal loads at once.",
)
@click.option(
    "--queued-per-principal",
    type=click.IntRange(min=1),
    default=500,
    show_default=True,
    help="Jobs of a principal that may wait.",
)
@click.option(
    "--running-per-principal", type=click.IntRange(min=1), help="Jobs of a principal at a time; without it, all places."
)
@click.option(
    "--load-directory",
    multiple=True,
    metavar="[SCHEMA=]DIRECTORY",
    help="Where stewards of the schema, or of main, may load files from; may be repeated.",
)
@click.option(
    "--grants",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A YAML file of grants, read at the start: commands add to it, and cannot change what is in it.",
)
@click.option(
    "--backup-directory",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where `tableveil backup` may write; without one there are no backups.",
)
@click.option(
    "--keep-days",
    type=click.IntRange(min=1),
    help="Delete ended jobs with what they found after so many days, other than releases; without it they stay.",
)
@click.option(
    "--audit-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where each call is recorded; by default FILE.audit.jsonl beside the database.",
)
@click.option("--audit-syslog", metavar="ADDRESS", help="Also to syslog: a socket such as /dev/log, or host:port.")
@click.option(
    "--needs-approval",
    multiple=True,
    metavar="SCHEMA",
    help="Keep releases into this schema private until another person approves them; * is every schema; may be "
    "repeated.",
)
@click.option(
    "--publish",
    multiple=True,
    metavar="NAME=TARGET",
    help="A place that releases may be published to, such as shelf=directory:/srv/published; may be repeated.",
)
@click.option(
    "--warehouse",
    multiple=True,
    metavar="NAME=ADDRESS",
    help="A place beside the database that tables may be in, such as lake=sc://spark.example:15002; lake=local starts "
    "a Spark for a try-out; may be repeated.",
)
@click.option(
    "--log-format",
    type=click.Choice(["console", "json"]),
    default="console",
    show_default=True,
    help="The log on stderr: lines for people, or a JSON object each.",
)
def serve(
    database: Path,
    address: tuple[str, ...],
    allow_remote: bool,
    plaintext: bool,
    tls_certificate: Path | None,
    tls_key: Path | None,
    tls_client_ca: Path | None,
    certificate_principal: tuple[str, ...],
    socket_mode: str,
    socket_group: str | None,
    metrics_address: str | None,
    oidc_issuer: str | None,
    oidc_audience: str | None,
    oidc_keys: str | None,
    oidc_name_claim: str,
    oidc_groups_claim: str,
    memory_limit: str | None,
    spill_limit: str | None,
    threads: int | None,
    concurrent_jobs: int,
    queue_limit: int,
    calls_per_principal: int,
    most_columns: int,
    streams_per_principal: int,
    loads_per_principal: int,
    queued_per_principal: int,
    running_per_principal: int | None,
    load_directory: tuple[str, ...],
    grants: Path | None,
    backup_directory: Path | None,
    keep_days: int | None,
    audit_file: Path | None,
    audit_syslog: str | None,
    needs_approval: tuple[str, ...],
    publish: tuple[str, ...],
    warehouse: tuple[str, ...],
    log_format: str,
) -> None:
    """Run the service until Ctrl-C or SIGTERM."""
    # The server loads the whole of Tableveil; the other commands need not wait for it.
    from tableveil.loading import LoadDirectory
    from tableveil.server import LogFormat, ServeSettings, run_server

    with Output().reporting():
        settings = ServeSettings(
            database=database,
            addresses=address,
            allow_remote=allow_remote,
            plaintext=plaintext,
            tls_certificate=tls_certificate,
            tls_key=tls_key,
            tls_client_ca=tls_client_ca,
            certificate_principals=certificate_principal,
            socket_mode=socket_mode,
            socket_group=socket_group,
            metrics_address=metrics_address,
            oidc_issuer=oidc_issuer,
            oidc_audience=oidc_audience,
            oidc_keys=oidc_keys,
            oidc_name_claim=oidc_name_claim,
            oidc_groups_claim=oidc_groups_claim,
            memory_limit=memory_limit,
            spill_limit=spill_limit,
            threads=threads,
            concurrent_jobs=concurrent_jobs,
            queue_limit=queue_limit,
            calls_per_principal=calls_per_principal,
            most_columns=most_columns,
            streams_per_principal=streams_per_principal,
            loads_per_principal=loads_per_principal,
            queued_per_principal=queued_per_principal,
            running_per_principal=running_per_principal,
            load_directories=tuple(map(LoadDirectory.read, load_directory)),
            grants=grants,
            backup_directory=backup_directory,
            keep_days=keep_days,
            audit_file=audit_file,
            audit_syslog=audit_syslog,
            needs_approval=needs_approval,
            publish=publish,
            warehouses=warehouse,
            log_format=LogFormat(log_format),
        )
        sys.exit(run_server(settings))

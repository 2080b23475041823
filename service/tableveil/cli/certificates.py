"""The command `certificates`: a private authority, and certificates for a server and its clients."""

import os
import re
from collections.abc import Iterable, Iterator
from datetime import timedelta
from pathlib import Path

import click

from tableveil.cli.files import NewFile
from tableveil.cli.output import Output
from tableveil.errors import Fault, InvalidError, shortened

_HOSTS = ("localhost", "127.0.0.1", "::1")
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,252}|[0-9A-Fa-f.:]*:[0-9A-Fa-f.:]*")
_CLIENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,62}")
_RESERVED = ("ca", "server")


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option("--host", multiple=True, default=_HOSTS, show_default=True, help="Name or IP address of the server.")
@click.option("--client", multiple=True, help="Name of a client that gets a certificate; may be repeated.")
@click.option("--days", type=click.IntRange(1, 3650), default=90, show_default=True, help="How long they are valid.")
def certificates(directory: Path, host: tuple[str, ...], client: tuple[str, ...], days: int) -> None:
    """Make certificates to try TLS with, signed by a private authority in DIRECTORY.

    The first run makes the authority. Later runs use it, and renew the certificates of the server and of the clients
    that they name. Anything but a try-out deserves certificates from the authority of your organization.
    """
    # Only this command needs the library that signs.
    from tableveil.tls import issue_client, issue_server, new_authority, read_pair

    output = Output()
    with output.reporting():
        if faults := [*_faults(host, client)]:
            raise InvalidError.about("NAMES_INVALID", "these certificates cannot be made", faults)
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        renews = os.path.lexists(_paths(directory, "ca")[0])
        authority = read_pair(*_paths(directory, "ca"), "ca") if renews else new_authority()
        valid = timedelta(days=days)
        made = {"server": issue_server(authority, host, valid)}
        made |= {name: issue_client(authority, [name], valid) for name in client}
        # Certificates of somebody else, in a directory that has no authority of ours, are not overwritten.
        for name, pair in made.items() if renews else {"ca": authority, **made}.items():
            for path, text in zip(_paths(directory, name), (pair.certificate, pair.key), strict=True):
                NewFile(path, "directory", overwrite=renews).write(text.decode())
                output.show(str(path))


def _paths(directory: Path, name: str) -> tuple[Path, Path]:
    """The files of a certificate and of its key."""
    return directory / f"{name}.pem", directory / f"{name}-key.pem"


def _faults(hosts: Iterable[str], clients: Iterable[str]) -> Iterator[Fault]:
    for host in hosts:
        if not _HOST.fullmatch(host):
            yield Fault("host", shortened(host), "a name such as clinic.example, or an IP address")
    for client in clients:
        if not _CLIENT.fullmatch(client) or client in _RESERVED:
            yield Fault("client", shortened(client), "letters, digits, dots and hyphens, other than ca and server")

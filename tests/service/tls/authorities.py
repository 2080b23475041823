"""Certificates of private authorities, written to files."""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from tableveil.tls import Pair, issue_client, issue_server, new_authority

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Files:
    """The files of a certificate and its key."""

    certificate: Path
    key: Path


class Authority:
    """An authority with a directory, to which it writes the certificates that it issues."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(exist_ok=True)
        self._directory = directory
        self._made = new_authority()
        self.certificate = directory / "ca.pem"
        self.certificate.write_bytes(self._made.certificate)

    def server(self, *hosts: str, valid: timedelta = DAY) -> Files:
        """A certificate for these hosts, in the place of an earlier one."""
        return write(issue_server(self._made, hosts or ("localhost", "127.0.0.1"), valid), self._directory / "server")

    def client(self, *names: str, valid: timedelta = DAY) -> Files:
        """A certificate for these names, in the place of an earlier one."""
        return write(issue_client(self._made, names, valid), self._directory / "client")


def write(made: Pair, place: Path) -> Files:
    """Writes the two files whose names begin so."""
    files = Files(place.with_suffix(".pem"), place.with_suffix(".key"))
    files.certificate.write_bytes(made.certificate)
    files.key.touch(mode=0o600)
    files.key.write_bytes(made.key)
    return files

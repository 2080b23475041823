"""`tableveil certificates`: files that a server and its clients can use, renewed by the same authority."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from cryptography import x509

from tableveil.cli.certificates import certificates
from tableveil.tls import read_authorities, read_pair
from tests.file_modes import open_to_others, usual_umask


def made(directory: Path, *options: str) -> Result:
    with usual_umask():
        return CliRunner().invoke(certificates, [str(directory), *options])


def names_in(path: Path) -> list[object]:
    certificate = x509.load_pem_x509_certificate(path.read_bytes())
    return [name.value for name in certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value]


def test_a_server_and_a_client(tmp_path: Path) -> None:
    directory = tmp_path / "tls"
    result = made(directory, "--host", "clinic.example", "--host", "10.0.0.7", "--client", "etl")
    assert result.exit_code == 0, result.output
    files = ["ca-key.pem", "ca.pem", "etl-key.pem", "etl.pem", "server-key.pem", "server.pem"]
    assert sorted(path.name for path in directory.iterdir()) == files
    assert open_to_others(directory) == {}
    assert [str(name) for name in names_in(directory / "server.pem")] == ["clinic.example", "10.0.0.7"]
    assert names_in(directory / "etl.pem") == ["etl"]
    authority = x509.load_pem_x509_certificate(read_authorities(directory / "ca.pem", "x"))
    for name in ("server", "etl"):
        pair = read_pair(directory / f"{name}.pem", directory / f"{name}-key.pem", "x")
        x509.load_pem_x509_certificate(pair.certificate).verify_directly_issued_by(authority)


def test_a_second_run_renews(tmp_path: Path) -> None:
    made(tmp_path / "tls", "--client", "etl")
    before = {path.name: path.read_bytes() for path in (tmp_path / "tls").iterdir()}
    assert made(tmp_path / "tls").exit_code == 0
    after = {path.name: path.read_bytes() for path in (tmp_path / "tls").iterdir()}
    assert {name for name in before if before[name] != after[name]} == {"server.pem", "server-key.pem"}
    assert before.keys() == after.keys()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--client", "../etl"], "NAMES_INVALID"),
        (["--client", "ca"], "NAMES_INVALID"),
        (["--client", ""], "NAMES_INVALID"),
        (["--host", "zürich.example"], "NAMES_INVALID"),
        ([], "PATH_EXISTS"),
    ],
)
def test_refusals_change_nothing(tmp_path: Path, options: list[str], code: str) -> None:
    # Somebody else's: there is no authority of ours beside it.
    mine = tmp_path / "server.pem"
    mine.write_text("mine")
    result = made(tmp_path, *options)
    assert result.exit_code != 0
    assert code in result.output
    assert mine.read_text() == "mine"


def test_an_authority_without_its_key(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "ca-key.pem").unlink()
    result = made(tmp_path)
    assert result.exit_code == 2
    assert "ca_key" in result.output

"""The command `console`."""

from __future__ import annotations

from pathlib import Path

import click

from tableveil.cli.configuration import CONFIG
from tableveil.cli.output import Output
from tableveil.client import DEFAULT_ADDRESS
from tableveil.errors import InvalidError, NotFoundError, shortened

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@CONFIG
@click.option(
    "--service", default=DEFAULT_ADDRESS, show_default=True, metavar="ADDRESS", help="Where the service listens."
)
@click.option("--ca-certificate", type=_FILE, help="Ask the service by TLS: the authorities of its certificate.")
@click.option("--address", default="127.0.0.1:50680", show_default=True, help="Where to listen.")
@click.option("--allow-remote", is_flag=True, help="Allow an address that other machines reach; it needs TLS.")
@click.option("--tls-certificate", type=_FILE, help="The console's certificate in PEM; then it speaks TLS.")
@click.option("--tls-key", type=_FILE, help="The key of the certificate.")
@click.option("--openid-issuer", metavar="URL", help="Let visitors sign in at this OpenID Connect provider.")
@click.option("--openid-client", metavar="ID", help="The console's client there.")
@click.option("--openid-client-secret-file", type=_FILE, help="The file with the client's secret, if it has one.")
@click.option("--openid-redirect", metavar="URL", help="The console's own address for it, which ends in /callback.")
@click.option("--openid-scopes", default="openid", show_default=True, help="With those that the service's tokens need.")
def console(
    service: str,
    ca_certificate: Path | None,
    address: str,
    allow_remote: bool,
    tls_certificate: Path | None,
    tls_key: Path | None,
    openid_issuer: str | None,
    openid_client: str | None,
    openid_client_secret_file: Path | None,
    openid_redirect: str | None,
    openid_scopes: str,
) -> None:
    """Show the service in a browser, until Ctrl-C or SIGTERM.

    Visitors sign in by their own tokens: the console has no rights of its own.
    """
    with Output().reporting():
        try:
            from tableveil.console.run import run_console
        except ModuleNotFoundError:
            raise NotFoundError.of(
                "CONSOLE_MISSING", "console", "no Starlette", "the extra", "pip install 'tableveil[console]'"
            ) from None
        from tableveil.console.settings import ConsoleSettings, OpenIdSettings

        host, colon, port = address.rpartition(":")
        if not colon or not port.isdecimal() or int(port) > 65535:
            raise InvalidError.of(
                "ADDRESS_INVALID", "address", shortened(address), "a host and a port: 127.0.0.1:50680"
            )
        stated = (openid_issuer, openid_client, openid_redirect)
        if any(stated) and not all(stated):
            expected = "openid-issuer, openid-client and openid-redirect"
            raise InvalidError.of("OPENID_INCOMPLETE", "openid-issuer", "a part of them", expected)
        secret = openid_client_secret_file.read_text(encoding="utf-8").strip() if openid_client_secret_file else ""
        provider = (
            OpenIdSettings(openid_issuer, openid_client, openid_redirect, secret, openid_scopes)
            if openid_issuer and openid_client and openid_redirect
            else None
        )
        settings = ConsoleSettings(
            service,
            host.strip("[]"),
            int(port),
            ca_certificate,
            allow_remote,
            tls_certificate,
            tls_key,
            provider,
        )
        run_console(settings, lambda where: click.echo(f"The console of {service} is at {where}"))

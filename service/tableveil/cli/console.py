"""The command `console`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import click

from tableveil.cli.configuration import CONFIG
from tableveil.cli.grouped import grouped
from tableveil.cli.output import Output
from tableveil.client import DEFAULT_ADDRESS
from tableveil.console.settings import ConsoleSettings, OpenIdSettings
from tableveil.errors import InvalidError, NotFoundError, shortened
from tableveil.serving.setting import Setting

_File = Path | None


@dataclass(frozen=True, slots=True)
class _Options:
    """The console's options, flat."""

    service: Annotated[str, Setting("Where the service listens.", metavar="ADDRESS")] = DEFAULT_ADDRESS
    ca_certificate: Annotated[_File, Setting("Ask the service by TLS: the authorities of its certificate.")] = None
    address: Annotated[str, Setting("Where to listen.")] = "127.0.0.1:50680"
    allow_remote: Annotated[bool, Setting("Allow an address that other machines reach; it needs TLS.")] = False
    tls_certificate: Annotated[_File, Setting("The console's certificate in PEM; then it speaks TLS.")] = None
    tls_key: Annotated[_File, Setting("The key of the certificate.")] = None
    proxy: Annotated[
        tuple[str, ...],
        Setting("A proxy before the console: it may have more than half of all connections.", metavar="ADDRESS"),
    ] = ()
    openid_issuer: Annotated[
        str | None, Setting("Let visitors sign in at this OpenID Connect provider.", metavar="URL")
    ] = None
    openid_client: Annotated[str | None, Setting("The console's client there.", metavar="ID")] = None
    openid_client_secret_file: Annotated[_File, Setting("The file with the client's secret, if it has one.")] = None
    openid_redirect: Annotated[
        str | None, Setting("The console's own address for it, which ends in /callback.", metavar="URL")
    ] = None
    openid_scopes: Annotated[str, Setting("With those that the service's tokens need.")] = "openid"


@click.command()
@CONFIG
@grouped(_Options)
def console(options: _Options) -> None:
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
        settings = ConsoleSettings(
            options.service,
            *_place(options.address),
            options.ca_certificate,
            options.allow_remote,
            options.tls_certificate,
            options.tls_key,
            _provider(options),
            options.proxy,
        )
        run_console(settings, lambda where: click.echo(f"The console of {options.service} is at {where}"))


def _place(address: str) -> tuple[str, int]:
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise InvalidError.of("ADDRESS_INVALID", "address", shortened(address), "a host and a port: 127.0.0.1:50680")
    return host.strip("[]"), int(port)


def _provider(options: _Options) -> OpenIdSettings | None:
    issuer, client, redirect = options.openid_issuer, options.openid_client, options.openid_redirect
    if not (issuer and client and redirect):
        if issuer or client or redirect:
            expected = "openid-issuer, openid-client and openid-redirect"
            raise InvalidError.of("OPENID_INCOMPLETE", "openid-issuer", "a part of them", expected)
        return None
    file = options.openid_client_secret_file
    secret = file.read_text(encoding="utf-8").strip() if file else ""
    return OpenIdSettings(issuer, client, redirect, secret, options.openid_scopes)

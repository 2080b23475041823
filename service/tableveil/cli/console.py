"""The command `console`."""

from __future__ import annotations

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

_FILE = click.Path(path_type=Path, dir_okay=False)


@dataclass(frozen=True, slots=True)
class _Options:
    """The console's options, flat."""

    service: Annotated[
        str,
        click.option(
            "--service",
            default=DEFAULT_ADDRESS,
            show_default=True,
            metavar="ADDRESS",
            help="Where the service listens.",
        ),
    ]
    ca_certificate: Annotated[
        Path | None,
        click.option(
            "--ca-certificate", type=_FILE, help="Ask the service by TLS: the authorities of its certificate."
        ),
    ]
    address: Annotated[
        str, click.option("--address", default="127.0.0.1:50680", show_default=True, help="Where to listen.")
    ]
    allow_remote: Annotated[
        bool,
        click.option("--allow-remote", is_flag=True, help="Allow an address that other machines reach; it needs TLS."),
    ]
    tls_certificate: Annotated[
        Path | None,
        click.option("--tls-certificate", type=_FILE, help="The console's certificate in PEM; then it speaks TLS."),
    ]
    tls_key: Annotated[Path | None, click.option("--tls-key", type=_FILE, help="The key of the certificate.")]
    proxy: Annotated[
        tuple[str, ...],
        click.option(
            "--proxy",
            multiple=True,
            metavar="ADDRESS",
            help="A proxy before the console: it may have more than half of all connections.",
        ),
    ]
    openid_issuer: Annotated[
        str | None,
        click.option("--openid-issuer", metavar="URL", help="Let visitors sign in at this OpenID Connect provider."),
    ]
    openid_client: Annotated[
        str | None, click.option("--openid-client", metavar="ID", help="The console's client there.")
    ]
    openid_client_secret_file: Annotated[
        Path | None,
        click.option(
            "--openid-client-secret-file", type=_FILE, help="The file with the client's secret, if it has one."
        ),
    ]
    openid_redirect: Annotated[
        str | None,
        click.option(
            "--openid-redirect", metavar="URL", help="The console's own address for it, which ends in /callback."
        ),
    ]
    openid_scopes: Annotated[
        str,
        click.option(
            "--openid-scopes", default="openid", show_default=True, help="With those that the service's tokens need."
        ),
    ]


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

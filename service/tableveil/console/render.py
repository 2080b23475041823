"""Pages from templates, with what all of them show."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse

from tableveil import wording
from tableveil.pages import environment
from tableveil.v1 import job_service_pb2, release_service_pb2
from tableveil.wording import access, proposals
from tableveil.wording.distinct import before_and_after
from tableveil.wording.exposures import HEADING, counted, exposure_columns, exposure_rows
from tableveil.wording.progress import activity, findings

_HTMX = {"allowEval": False, "includeIndicatorStyles": False, "selfRequestsOnly": True, "historyCacheSize": 0}
"""Nothing of a page is evaluated, kept in the browser's store, or asked of another site."""


def rendered(template: str, status: int = 200, **shown: Any) -> HTMLResponse:
    """The page of a template; `visit` is the visit, if somebody is signed in."""
    text = _environment().get_template(template).render({"visit": None, **shown})
    return HTMLResponse(text, status)


def fragment(template: str, **shown: Any) -> str:
    """A part of a page."""
    return _environment().get_template(template).render(shown)


@cache
def stylesheet() -> str:
    """The look of all pages of Tableveil, and what the console adds."""
    shared = files("tableveil.pages").joinpath("templates", "style.css").read_text(encoding="utf-8")
    return shared + files("tableveil.console").joinpath("static", "console.css").read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    made = environment("tableveil.console").overlay()
    made.globals = {
        **made.globals,
        "wording": wording,
        "htmx": json.dumps(_HTMX),
        "as_it_is": escape,
        "in_lines": _in_lines,
        "access": access,
        "before_and_after": before_and_after,
        "exposed": _exposed,
        "proposals": proposals,
        "activity": activity,
        "findings": findings,
        "state_of": _state_of,
        "job_states": _choices(job_service_pb2.JobState, "JOB_STATE_"),
        "release_states": _choices(release_service_pb2.ReleaseState, "RELEASE_STATE_"),
    }
    return made


def _in_lines(text: str) -> Markup:
    """A text of several lines, each printable."""
    return Markup("\n").join(wording.printable(line) for line in text.split("\n"))


def _state_of(release: release_service_pb2.Release) -> str:
    standing = wording.standing(release)
    return "public" if standing == "yes" else standing


def _choices(states: Any, prefix: str) -> Mapping[str, str]:
    return {name.removeprefix(prefix).lower(): wording.enum_word(name, prefix) for name in states.keys()[1:]}


def _exposed(release: release_service_pb2.Release) -> tuple[str, tuple[str, ...], list[tuple[str, ...]]]:
    """The heading, the columns and the rows of the table of those who could be found."""
    shown = counted(release.exposures)
    return HEADING, exposure_columns(shown), list(exposure_rows(shown))

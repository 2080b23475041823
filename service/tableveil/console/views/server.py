"""The server, its grants, principals and audit: the parts that the visitor may see."""

from starlette.responses import Response

from tableveil.console.visit import Visit

_PAGES = (
    ("/server/grants", "Grants", "ListGrants"),
    ("/server/principals", "Tokens", "ListTokens"),
    ("/server/targets", "Targets of publications", "ListTargets"),
    ("/server/audit", "Audit", "ListAuditEntries"),
)


def overview(visit: Visit) -> Response:
    """The server's version, and who the visitor is there."""
    pages = visit.session.rights.among(_PAGES)
    return visit.page("server.html", info=visit.client.get_server_info(), pages=pages)


def grants(visit: Visit) -> Response:
    """Grants on what the visitor administers."""
    return visit.listed("grants.html", visit.client.list_grants())


def principals(visit: Visit) -> Response:
    """Tokens and whose they are, without their texts."""
    return visit.listed("principals.html", visit.client.list_tokens())


def targets(visit: Visit) -> Response:
    """The places that releases are published to."""
    return visit.page("targets.html", targets=visit.client.list_targets())


def audit(visit: Visit) -> Response:
    """Entries of the audit, newest first."""
    principal = visit.asked("principal")
    return visit.listed("audit.html", visit.client.list_audit_entries(principal=principal), principal=principal)


def verify(visit: Visit) -> Response:
    """Verifies the chain of the audit's file, against a hash that was kept elsewhere."""
    return visit.page("verified.html", result=visit.client.verify_audit(visit.text("head")))

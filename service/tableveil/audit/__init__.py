"""The audit: every call, allowed or refused, as an entry in a chain of hashes, durable before the call is answered."""

from tableveil.audit.audit import Audit
from tableveil.audit.file import AuditFile
from tableveil.audit.verify import Verified, verify

__all__ = ["Audit", "AuditFile", "Verified", "verify"]

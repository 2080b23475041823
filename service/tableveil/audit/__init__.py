"""The audit: every call, allowed or refused, as an entry in a chain of hashes, durable before the call is answered."""

from tableveil.audit.audit import Audit
from tableveil.audit.entry import MOST_RESOURCES, Head
from tableveil.audit.file import AuditFile, audit_file
from tableveil.audit.recorder import Recorder
from tableveil.audit.refusals import REFUSED, Refused, without_port
from tableveil.audit.verify import verify

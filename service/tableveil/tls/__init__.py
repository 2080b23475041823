"""Certificates: read from files and checked before they are used, and made for a try-out."""

from tableveil.tls.authority import issue_client, issue_server, new_authority
from tableveil.tls.files import Pair, read_authorities, read_pair

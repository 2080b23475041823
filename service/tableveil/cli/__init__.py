"""The command line: the service's verbs for people and for schedulers."""

import os

# gRPC's own lines on stderr are no log of ours, and would stand between lines of JSON. It reads this when it is
# imported.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

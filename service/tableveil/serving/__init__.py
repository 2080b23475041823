"""Parts of every process that listens: its addresses, TLS, log, settings and version."""

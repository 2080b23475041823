"""The command line: the service's verbs for people and for schedulers."""

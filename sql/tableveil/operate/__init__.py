"""Keeping a database: its state of health, backups while it is in use, restoring them, and schemas."""

from tableveil.operate.backup import Backup, Backups
from tableveil.operate.disk import LEAST_FREE_BYTES, check_free_space, free_bytes
from tableveil.operate.examine import examine_file, examine_state
from tableveil.operate.finding import Finding, Level
from tableveil.operate.restore import restore
from tableveil.operate.schemas import create_schema

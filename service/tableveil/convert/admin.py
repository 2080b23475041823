"""Findings and backups as messages."""

from tableveil.convert.copied import copied, duration
from tableveil.operate import Backup, Finding
from tableveil.v1 import admin_service_pb2 as v1


def finding_to_proto(finding: Finding) -> v1.Finding:
    """A finding."""
    return copied(finding, v1.Finding, level=v1.FindingLevel.Value(f"FINDING_LEVEL_{finding.level}"))


def backup_to_proto(backup: Backup) -> v1.Backup:
    """A backup, by its whole path."""
    return copied(backup, v1.Backup, path=str(backup.path), size_bytes=backup.size, duration=duration(backup.seconds))

"""The source table: its columns, its fit to the policy, and the fingerprint of its rows."""

from tableveil.source.analyzed import Analyzed, RowsToAnalyze, resolve_analyzed
from tableveil.source.facts import check_facts, check_membership, estimated_values, records_in
from tableveil.source.fingerprint import Fingerprint, fingerprint, full_fingerprint, population_fingerprint, rows_digest
from tableveil.source.model import Column, Source
from tableveil.source.resolve import find_source, resolve_source
from tableveil.source.tables import columns_of, find_table

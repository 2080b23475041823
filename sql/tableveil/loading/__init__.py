"""Loading: rows of files and Arrow streams into tables, all of them or none."""

from tableveil.loading.columns import MOST_COLUMNS, check_names, check_types
from tableveil.loading.content import bytes_digest, content_of_files, content_of_rows, guarding, is_comparable
from tableveil.loading.csv_file import csv_rows
from tableveil.loading.csv_guess import CsvGuess, guess_csv
from tableveil.loading.model import CsvEncoding, CsvFormat, FileFormat, LoadRows, ParquetFormat, RejectedLine
from tableveil.loading.parquet_file import parquet_rows, reading_parquet
from tableveil.loading.paths import LoadDirectory, allowed_file, check_unchanged, file_state
from tableveil.loading.postgresql_url import check_url
from tableveil.loading.standing import check_bound, check_standing, unbound_note
from tableveil.loading.write import append, check_place, create, drop_table, empty, found_place

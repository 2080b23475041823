#!/bin/sh
# Every night: discharges in PostgreSQL become a release, which is published to PostgreSQL.
#
#   nightly.sh NIGHT [LOAD]
#
# NIGHT names the run, such as 2026-11-22: asked again, no step is done twice. If the source has other rows by then, the
# load is refused, and the error names the load that stands: with that LOAD, such as loads/5, the script goes on. Rows
# that were repaired need another name, such as "2026-11-22 repaired". The environment says where things are:
# CLINIC is the URL of the source, without a password; PGPASSFILE names the file with passwords; TABLEVEIL_SERVER and
# TABLEVEIL_TOKEN_FILE lead to the service, which was started with --publish warehouse=postgresql://…
#
# A step that fails ends the script with its exit code; docs/reference/etl.md says what each means.
set -eu
night=$1
result=$(mktemp)
trap 'rm -f "$result"' EXIT

load=${2:-}
if [ -z "$load" ]; then
    tableveil load "$CLINIC" --table discharges --replace --request-id "load $night" --json >"$result"
    load=$(grep -o 'loads/[0-9]*' "$result" | head -n 1)
fi
# Another night's rows, loaded in between, are refused.
tableveil submit "$(dirname "$0")/policy.yaml" --source-load "$load" --request-id "release $night $load" \
    --fail-on decide --wait
# The policy names the warehouse: the release is there now. Otherwise the exit code is 11.

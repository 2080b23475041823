#!/bin/sh
# Every night: visits in PostgreSQL become a release, which is published to PostgreSQL.
#
#   nightly.sh NIGHT
#
# NIGHT names the run, such as 2026-11-22: asked again, no step is done twice. The environment says where things are:
# CLINIC is the URL of the source, without a password; PGPASSFILE names the file with passwords; TABLEVEIL_SERVER and
# TABLEVEIL_TOKEN_FILE lead to the service, which was started with --publish warehouse=postgresql://…
#
# A step that fails ends the script with its exit code; docs/etl.md says what each means.
set -eu
night=$1
result=$(mktemp)
trap 'rm -f "$result"' EXIT

tableveil load "$CLINIC" --table visits --replace --request-id "load $night"
tableveil submit "$(dirname "$0")/policy.yaml" --request-id "release $night" --wait --json >"$result"
# The last line is the release; its name comes first.
release=$(tail -n 1 "$result" | grep -o 'releases/[0-9]*' | head -n 1)
# The policy names the warehouse. This waits until the release is there.
tableveil publish "$release" --to warehouse --repeat-reason "takes the place of the night before"

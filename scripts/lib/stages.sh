# The stages of scripts/test, and the count of their tests. Sourced, with environment.sh before it.

reports=$root/build/reports
rm -rf "$reports"
mkdir -p "$reports"

# stage <name> <command…>: runs it; the command writes $report, in JUnit's format.
# A stage that fails without saying which test did counts as one failure.
stage() {
  local name=$1 started=$SECONDS status
  shift
  report=$reports/${name//[^A-Za-z0-9.]/-}.xml
  say "$name"
  "$@"
  status=$?
  printf '%s\t%s\t%s\t%s\n' "$name" "$status" "$((SECONDS - started))" "$report" >>"$reports/stages.tsv"
}

# summary: prints a line for each stage and the total; its status is that of the run.
summary() {
  say "summary"
  python3 scripts/lib/summary.py "$reports/stages.tsv"
}

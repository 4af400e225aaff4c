# The stages of scripts/test, and the count of their tests. Sourced, with environment.sh before it.

reports=$root/build/reports
rm -rf "$reports"
mkdir -p "$reports"

report_of() { printf '%s\n' "$reports/${1//[^A-Za-z0-9.]/-}.xml"; }

# ended <name> <status> <seconds>
ended() { printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$(report_of "$1")" >>"$reports/stages.tsv"; }

# stage <name> <command…>: runs it; the command writes $report, in JUnit's format.
# A stage that fails without saying which test did counts as one failure.
stage() {
  local name=$1 started=$SECONDS status
  shift
  report=$(report_of "$name")
  say "$name"
  "$@"
  status=$?
  ended "$name" "$status" "$((SECONDS - started))"
}

# begin <name> <command…>: a stage that runs beside those that follow; it sets $begun, for finish.
begin() {
  local name=$1
  shift
  local output
  output=$(report_of "$name")
  output=${output%.xml}
  (
    SECONDS=0
    report=$(report_of "$name")
    "$@" >"$output.log" 2>&1
    status=$?
    printf '%s\n' "$SECONDS" >"$output.seconds"
    exit "$status"
  ) &
  begun=$!
}

# finish <name> <begun>: waits for the end of a stage, and prints then what it printed. Its seconds are those that it took.
finish() {
  local output status
  output=$(report_of "$1")
  output=${output%.xml}
  say "$1"
  wait "$2"
  status=$?
  cat "$output.log"
  ended "$1" "$status" "$(cat "$output.seconds")"
}

# summary: prints a line for each stage and the total; its status is that of the run.
summary() {
  say "summary"
  python3 scripts/lib/summary.py "$reports/stages.tsv"
}

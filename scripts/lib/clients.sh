# The published clients that tests/integration/clients runs, each in a folder of its own below build/clients: npm's SDK with
# the Node that it needs, and the older one of PyPI (the newest is in .venv). Sourced, with environment.sh before it.
# Only what is missing is done. A client that cannot be had is a note here, and skipped by the tests, which say why; where
# everything is required (RESONATE_REQUIRE_BACK_ENDS) they fail.

clients=$root/build/clients
older_python_sdk=0.7.4

# client <name> <digest of what it is made from> <function>: makes it by the function, which is given the folder, once.
client() {
  local folder=$clients/$1
  [ "$(cat "$folder/client.stamp" 2>/dev/null)" != "$2" ] || return 0
  say "client $1"
  mkdir -p "$folder"
  rm -f "$folder/client.stamp"
  if "$3" "$folder" >"$folder/setup.log" 2>&1; then
    printf '%s\n' "$2" >"$folder/client.stamp"
  else
    note "client $1 cannot be set up; the end of build/clients/$1/setup.log is:"
    tail -n 5 "$folder/setup.log"
  fi
}

typescript_client() {
  local project=$root/tests/integration/clients/typescript
  command -v npm || { echo "there is no npm on this machine"; return 1; }
  cp "$project/package.json" "$project/package-lock.json" "$1/" || return 1
  npm ci --prefix "$1" --no-audit --no-fund && "$1/node_modules/.bin/node" --version
}

older_python_client() {
  local version python
  for version in "${supported_pythons[@]}"; do
    case $version in 3.10 | 3.11) continue ;; esac # it needs 3.12
    python=$(python_for "$version") || continue
    "$python" -m venv --clear "$1/venv" && "$1/venv/bin/pip" install -q "resonate-sdk==$older_python_sdk"
    return
  done
  echo "resonate-sdk $older_python_sdk needs Python 3.12 or newer, and there is none here"
  return 1
}

set_up_clients() {
  client typescript "$(cat "$root"/tests/integration/clients/typescript/package*.json | sha256sum)" typescript_client
  client python-0.7 "$older_python_sdk" older_python_client
}

# What every script shares: where the project is, which Pythons there are, its virtual
# environments. Sourced, with `root` as the working directory afterwards.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"

# A clone elsewhere on the machine is served by the same compiler cache.
export CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
export PIP_DISABLE_PIP_VERSION_CHECK=1

supported_pythons=(3.13 3.12 3.11 3.10)
oldest_python=3.10
newest_python=3.13

say() { printf '\n== %s\n' "$*"; }
note() { printf '** NOTE: %s\n' "$*"; }
fail() {
  printf '** FAILED: %s\n' "$*" >&2
  exit 1
}

# is_python <command> <major.minor>: it runs (a pyenv shim may not) and is that version.
is_python() {
  command -v "$1" >/dev/null 2>&1 &&
    "$1" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$2')" >/dev/null 2>&1
}

# can_build <command>: it can make a virtual environment and compile an extension.
can_build() {
  "$1" - >/dev/null 2>&1 <<'PYTHON'
import ensurepip, os, sys, sysconfig, venv
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))
PYTHON
}

# python_for <major.minor>: prints the interpreter of that version; fails where there is none.
python_for() {
  local candidate
  for candidate in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python python3 python; do
    if is_python "$candidate" "$1" && can_build "$candidate"; then
      "$candidate" -c 'import sys; print(sys.executable)'
      return 0
    fi
  done
  return 1
}

# main_version: the newest supported version that is here.
main_version() {
  local version
  for version in "${supported_pythons[@]}"; do
    if python_for "$version" >/dev/null; then
      printf '%s\n' "$version"
      return 0
    fi
  done
  return 1
}

# The file in an environment that says: made by scripts/setup, with this Python.
made_by_setup=made-by-scripts-setup

# is_free <environment>: scripts/setup may make it, or has made it and nobody has installed the package there in another way since.
is_free() {
  [ ! -e "$1" ] || { [ -f "$1/$made_by_setup" ] && { [ ! -f "$1/module.stamp" ] || has_editable_package "$1"; }; }
}

has_editable_package() {
  local file
  for file in "$1"/lib/python*/site-packages/_*editable*resonate_core*.py; do
    [ ! -f "$file" ] || return 0
  done
  return 1
}

# venv_for <major.minor>: where its environment is. The newest has .venv, or .venv-dev if .venv is the user's own.
venv_for() {
  if [ "$1" != "$(main_version)" ]; then
    printf '%s\n' "$root/.venv-$1"
  elif is_free "$root/.venv"; then
    printf '%s\n' "$root/.venv"
  else
    printf '%s\n' "$root/.venv-dev"
  fi
}

# Says which of the two ends of the supported range are not tested here.
note_missing_pythons() {
  local version
  for version in "$oldest_python" "$newest_python"; do
    python_for "$version" >/dev/null || note "Python $version is not on this machine: nothing is tested on it here"
  done
}

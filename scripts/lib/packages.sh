# Debian's packages. Sourced, with environment.sh before it.

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# Debian's postgresql creates a cluster `main` and starts it, unless this file says no. The tests make clusters of their own.
without_main_cluster() {
  local folder=/etc/postgresql-common/createcluster.d
  [ ! -e "${folder%/*}" ] || return 0 # PostgreSQL is in use here
  as_root mkdir -p "$folder"
  printf 'create_main_cluster = false\n' | as_root tee "$folder/resonate-core.conf" >/dev/null
}

install_packages() {
  [ $# -gt 0 ] || return 0
  say "installing $*"
  if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
    fail "these Debian packages are missing, and this is neither root nor has sudo: $*"
  fi
  case " $* " in *" postgresql "*) without_main_cluster ;; esac
  as_root apt-get update -q
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "$@"
}

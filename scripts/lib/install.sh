# The package in a virtual environment: its requirements for a level, and the module compiled. Sourced, with environment.sh before it.

# extras_of <level>: the extras of pyproject.toml that the level installs.
extras_of() {
  case $1 in
    demo) printf 'cli,sdk\n' ;;
    test) printf 'sdk,tests\n' ;;
    dev | all) printf 'dev,docs,notebook,sdk\n' ;;
  esac
}

# covers <level> <level>: the first contains the second.
covers() {
  local order=" demo test dev all "
  local before=${order%% "$2" *}
  [ "${1:-}" != "" ] && [ "${order%% "$1" *}" != "$order" ] && local reached=${order%% "$1" *} && [ ${#reached} -ge ${#before} ]
}

# The sources of the compiled module, with the stub that has its docstrings, and what says how to build it.
build_inputs_digest() {
  find CMakeLists.txt cmake pyproject.toml cpp/include cpp/src cpp/bindings python/resonate_core/_core.pyi -type f -print0 |
    LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -d' ' -f1
}

# install_requirements <environment> <level>
install_requirements() {
  "$1/bin/python" scripts/lib/requirements.py "$(extras_of "$2")" >"$1/requirements.txt" &&
    "$1/bin/pip" install -q -r "$1/requirements.txt"
}

# build_module <environment>: editable and not isolated: Python files are used where they are, and build/ is kept.
build_module() {
  local options=()
  if [ -n "${CI:-}" ]; then options+=(--config-settings=cmake.define.RESONATE_WARNINGS_AS_ERRORS=ON); fi
  "$1/bin/pip" install -q --no-deps --no-build-isolation ${options[@]+"${options[@]}"} -e .
}

# install_into <environment> <python> <level>: the requirements are installed while the module is compiled. Each stamp is written when
# its part is complete, so an interrupted run goes on where it stopped.
install_into() {
  local environment=$1 python=$2 level=$3 given module installed="" requirements=0
  given="$("$python" -V) $(sha256sum <pyproject.toml | cut -d' ' -f1)"
  module="$("$python" -V) $(build_inputs_digest)"
  if [ ! -x "$environment/bin/python" ] || [ "$(cat "$environment/$made_by_setup" 2>/dev/null)" != "$("$python" -V)" ]; then
    is_free "$environment" || fail "$(basename "$environment") was not made by scripts/setup, or not by its present version: rename or delete it"
    say "environment $(basename "$environment"): $("$python" -V)"
    "$python" -m venv --clear "$environment"
    "$python" -V >"$environment/$made_by_setup"
    "$environment/bin/python" scripts/lib/requirements.py --build >"$environment/requirements.txt"
    "$environment/bin/pip" install -q -r "$environment/requirements.txt"
  fi
  if [ -f "$environment/requirements.stamp" ]; then
    installed=$(tail -n 1 "$environment/requirements.stamp")
    if covers "$installed" "$level"; then level=$installed; fi
  fi
  if [ "$(cat "$environment/requirements.stamp" 2>/dev/null)" != "$given"$'\n'"$level" ]; then
    say "requirements of $(basename "$environment"): extras $(extras_of "$level")"
    install_requirements "$environment" "$level" &
    requirements=$!
  fi
  if [ "$(cat "$environment/module.stamp" 2>/dev/null)" != "$module" ]; then
    say "compiling the module for $(basename "$environment")"
    if ! build_module "$environment"; then
      [ "$requirements" = 0 ] || wait "$requirements" || true # two installations in one environment would meet otherwise
      fail "the module was not built; see above"
    fi
    printf '%s\n' "$module" >"$environment/module.stamp"
  fi
  if [ "$requirements" != 0 ]; then
    wait "$requirements" || fail "the requirements were not installed; see above"
    printf '%s\n%s\n' "$given" "$level" >"$environment/requirements.stamp"
  fi
}

#include "storage/libpq.hpp"

#include <dlfcn.h>

#include <string>

#include "resonate/errors.hpp"

namespace resonate {

namespace {

#ifdef __APPLE__
constexpr const char* kNames[] = {"libpq.5.dylib", "libpq.dylib", "/opt/homebrew/opt/libpq/lib/libpq.5.dylib"};
#else
constexpr const char* kNames[] = {"libpq.so.5"};
#endif

Libpq load() {
  void* library = nullptr;
  for (const char* name : kNames)
    if (!library) library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    throw Error(
        ErrorCode::unsupported,
        std::string("a store in PostgreSQL needs the library libpq, which is not installed (Debian: libpq5): ") + ::dlerror());
  Libpq found;
  const char* missing = nullptr;
#define RESONATE_LOAD(name)                                                     \
  found.name = reinterpret_cast<decltype(found.name)>(::dlsym(library, #name)); \
  if (!found.name) missing = #name;
  RESONATE_LIBPQ_FUNCTIONS(RESONATE_LOAD)
#undef RESONATE_LOAD
  if (missing)
    throw Error(ErrorCode::unsupported,
                std::string("a store in PostgreSQL needs libpq 14 or newer; the installed library has no ") + missing);
  return found;
}

}  // namespace

const Libpq& libpq() {
  static const Libpq loaded = load();  // after a failure the next call tries again
  return loaded;
}

}  // namespace resonate

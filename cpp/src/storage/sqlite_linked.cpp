// For a module that is linked to the system's SQLite: sqlite_loaded.cpp is then not built.
#include "resonate/sqlite_copies.hpp"

namespace resonate {

bool sqlite_is_loaded() noexcept { return false; }

void load_sqlite(void*) {}

bool sqlite_is_own_copy() noexcept { return false; }

}  // namespace resonate

// The copies of the SQLite library in this process. A module that was built with RESONATE_SQLITE=LOAD takes the one that the
// embedding program uses, so that both know each other's locks; only if it cannot, it uses a copy of its own.
#pragma once

#include <string>

namespace resonate {

// True if the module was built to load SQLite; false if it is linked to it, and the functions below do nothing.
bool sqlite_is_loaded() noexcept;

// Chooses the library, before the first store opens a file. `shared`: a handle of dlopen whose functions of SQLite the embedding
// program uses, or null. They are taken if they are those of SQLite 3.37 or newer and safe for threads. Error (unsupported): there
// is no other library.
void load_sqlite(void* shared);

// True if the stores use a copy that the embedding program does not use.
bool sqlite_is_own_copy() noexcept;

// True if a store of this process has this file open. `path` follows links.
bool is_open_in_a_store(const std::string& path);

}  // namespace resonate

// Storage in a SQLite file, which several processes can have open at once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "resonate/instant.hpp"
#include "resonate/storage.hpp"

namespace resonate {

enum class Durability : std::uint8_t {
  full,    // an acknowledged commit survives a power failure (fsync at each commit)
  normal,  // commits survive the death of the process; a power failure can undo the last commits, each as a whole
};

struct SqliteOptions {
  Durability durability = Durability::full;
  bool read_only = false;
  Duration busy_timeout = 5000;  // how long a transaction waits for another process
};

// Opens the file, or creates it. It may be the database of an application: the tables of the store are made in it. Error (storage)
// names the file and the cause, and leaves the file unchanged: it is not a database, of a newer schema, damaged, or cannot be
// opened.
std::unique_ptr<Storage> open_sqlite_storage(const std::string& path, const SqliteOptions& options);
// Reads only. Errors as above, and if the file does not exist.
SchemaVersions sqlite_schema_versions(const std::string& path);

// Copies the file `source`, as of one instant, to the new file `target`; other processes can use the source meanwhile. The copy
// appears under its name once it is complete and synced. Error (storage): `target` exists or cannot be written; then nothing is
// left there.
void backup_sqlite_file(const std::string& source, const std::string& target);
// The same from any storage.
void write_sqlite_file(Storage& source, const std::string& target);

// The SQLite library of this process that the stores use, and how many files they have open with it. Two copies of the library in
// one process do not know each other's locks.
struct SqliteLibrary {
  std::string source_id;
  int open_files = 0;
};
SqliteLibrary sqlite_library();

// Returns the problems of a file below the level of the state: commits in the log that cannot be read, damaged pages, indexes that
// disagree with their tables, an unknown schema, rows that cannot be decoded. Empty: none. The texts may contain bytes that are not
// UTF-8.
std::vector<std::string> check_sqlite_file(const std::string& path);

}  // namespace resonate

// The SQLite home: rows in one file, which several processes may have open at once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "resonate/instant.hpp"
#include "resonate/storage.hpp"

namespace resonate {

enum class Durability : std::uint8_t {
  full,    // an acknowledged commit survives a loss of power (fsync at each commit)
  normal,  // it survives the death of the process; a loss of power may undo the last commits, never half of one
};

struct SqliteOptions {
  Durability durability = Durability::full;
  bool read_only = false;
  Duration busy_timeout = 5000;  // how long a transaction waits for another process's
};

// Opens the file, or makes it where there is none. Error (storage) names the file and the cause, and the file is as it was: it is
// no database, another program's, of a newer schema, damaged, or cannot be opened.
std::unique_ptr<Storage> open_sqlite_storage(const std::string& path, const SqliteOptions& options);

// Copies the file `source`, as of one instant, to `target`, where nothing is yet; others go on with the source meanwhile. The copy
// appears once it is complete and synced. Error (storage): there is something, or it cannot be written; then nothing is left there.
void backup_sqlite_file(const std::string& source, const std::string& target);
// The same from any storage.
void write_sqlite_file(Storage& source, const std::string& target);

// Closes every open file, each to be opened again at its next use. Before a fork(2), with no transaction under way: SQLite's locks
// belong to a process and its tables of them to the memory that a child copies, so that no connection may be open across one.
void close_sqlite_files_for_fork() noexcept;

// What is wrong with the file below the level of the state: commits that the log holds and that cannot be read, damaged pages,
// indexes that disagree with their tables, a schema that is not ours, rows that cannot be read. Empty: nothing. It may hold texts
// that are not UTF-8.
std::vector<std::string> check_sqlite_file(const std::string& path);

}  // namespace resonate

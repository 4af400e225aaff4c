// SqliteFile: one connection to a store's file. It knows how such a file is opened, made and migrated, and turns SQLite's errors
// into the core's, each naming the file and the cause.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include <SQLiteCpp/SQLiteCpp.h>

#include "resonate/interruption.hpp"
#include "resonate/sqlite.hpp"

namespace resonate {

// What changes when somebody writes to a file or puts another one in its place.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t size = -1;  // there is no such file
  std::int64_t changed_at_ns = 0;

  static FileStamp of(const std::string& path) noexcept;
  bool operator==(const FileStamp&) const = default;
};

// The path as it is meant from the present working folder: a process may change that, and SQLite takes a name that begins with
// "file:" as a URI.
std::string absolute_path(const std::string& path);

class SqliteFile {
 public:
  enum class Absent : std::uint8_t { make, refuse };
  static std::unique_ptr<SqliteFile> open(const std::string& path, const SqliteOptions& options, Absent absent = Absent::make);

  const std::string& path() const noexcept { return path_; }
  SQLite::Database& database() noexcept { return database_; }

  // Whether the file is read without its log, since there is none and its folder cannot hold one, and has changed meanwhile:
  // another process writes to it, and it has to be opened again.
  bool is_outdated() const noexcept;

  // Error of what SQLite has just said; `deed`: what was not possible ("open", "commit").
  // Throws Interrupted instead if that was the reason.
  [[noreturn]] void fail(const char* deed, const SQLite::Exception& error);
  // Throws Interrupted if SQLite gave up because of it.
  void throw_interrupt();

 private:
  SqliteFile(const std::string& path, const SqliteOptions& options, Absent absent);
  [[noreturn]] void refuse_schema(std::int64_t version, const std::string& why) const;
  void prepare(const SqliteOptions& options);
  void migrate(bool was_empty);
  void require_ours(std::int64_t version);
  void run(const char* sql);             // statements without parameters and results
  std::int64_t number(const char* sql);  // the first column of the first row
  // For sqlite3_busy_handler and sqlite3_progress_handler.
  static int wait_for_others(void* file, int times) noexcept;
  static int go_on(void* file) noexcept;
  bool interrupted(Pause pause) noexcept;

  std::string path_;
  Duration busy_timeout_;
  Duration waited_ = 0;  // by the statement that waits
  std::exception_ptr interrupt_;
  std::optional<FileStamp> read_alone_;
  SQLite::Database database_;
};

}  // namespace resonate

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

class SqliteFile {
 public:
  enum class Absent : std::uint8_t { make, refuse };
  static std::unique_ptr<SqliteFile> open(const std::string& path, const SqliteOptions& options, Absent absent = Absent::make);

  const std::string& path() const noexcept { return path_; }
  SQLite::Database& database() noexcept { return database_; }

  // Error of what SQLite has just said; `deed`: what was not possible ("open", "commit").
  // Throws Interrupted instead if that was the reason.
  [[noreturn]] void fail(const char* deed, const SQLite::Exception& error);
  // Throws Interrupted if SQLite gave up because of it.
  void throw_interrupt();

 private:
  SqliteFile(const std::string& path, const SqliteOptions& options, Absent absent);
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
  SQLite::Database database_;
};

}  // namespace resonate

// SqliteFile: one connection to a store's file. It opens, creates and migrates the file, and translates SQLite's errors into core
// errors that name the file and the cause.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include <SQLiteCpp/SQLiteCpp.h>

#include "resonate/interruption.hpp"
#include "resonate/sqlite.hpp"
#include "storage/sqlite_copies.hpp"

namespace resonate {

// File metadata that changes when a program writes to the file or replaces it.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t size = -1;  // -1: the file does not exist
  std::int64_t changed_at_ns = 0;

  static FileStamp of(const std::string& path) noexcept;
  bool operator==(const FileStamp&) const = default;
};

// The absolute path of `path`, resolved once: a process may change its working folder, and SQLite would parse a name that begins
// with "file:" as a URI.
std::string absolute_path(const std::string& path);

// The absolute path of the file that `path` leads to, without symbolic links. SQLite follows them, so the log and its index are
// beside that file; a link that is changed later leads to another one. The file need not exist.
std::string real_path(const std::string& path);

// Why a file at its real path cannot be a store's, if it has several names (hard links): SQLite has a log and an index for each
// name.
std::optional<std::string> problem_of_names(const std::string& path);

// Why SQLite must not open it, if a file beside it (-wal, -shm, -journal) has several names: they may be those of any file.
std::optional<std::string> problem_of_names_beside(const std::string& path);

// Why the journal beside a file must not be played back: it names a super-journal, of a transaction on several databases, and
// SQLite deletes any file of that name. No transaction of a store is on several databases.
std::optional<std::string> problem_of_journal(const std::string& path);

class SqliteFile {
 public:
  // The longest pause between two looks whether another process has ended its transaction, in ms.
  static constexpr Duration kLongestPause = 50;

  enum class Absent : std::uint8_t { make, refuse };
  // Whether tables and indexes of a store must be those of its schema. `any` is for a check, which names the others.
  enum class Objects : std::uint8_t { exact, any };
  static std::unique_ptr<SqliteFile> open(const std::string& path, const SqliteOptions& options, Absent absent = Absent::make,
                                          Objects objects = Objects::exact);
  // The number of files that this process has open.
  static int open_count() noexcept { return open_files; }
  // The version of the store in an existing file; 0: it holds none.
  static std::int64_t version_of(const std::string& path);

  const std::string& path() const noexcept { return path_; }
  SQLite::Database& database() noexcept { return database_; }

  // True if the file was opened as immutable because it had no log, and has changed since: another process writes to it, and it
  // must be reopened.
  bool is_outdated() const noexcept;

  // Shortens the log if it is long and no reader needs it any more. Waits for no lock, but copying the log takes time: a few
  // seconds for 1 GB. Call it outside of transactions.
  void shorten_log() noexcept;

  // Throws the core's error for SQLite's last error; `action` is what failed ("open", "commit"). Throws Interrupted instead if an
  // interrupt was the cause.
  [[noreturn]] void fail(const char* action, const SQLite::Exception& error);
  // Throws the stored interrupt, if there is one.
  void throw_interrupt();

 private:
  SqliteFile(const std::string& path, const SqliteOptions& options, Absent absent);
  [[noreturn]] void refuse_schema(std::int64_t version, const std::string& why) const;
  template <class Body>
  auto opening(Body body);
  template <class Body>
  void waiting(Body body);
  void prepare(const SqliteOptions& options);
  void migrate();
  std::int64_t checked_version(bool read_only);
  std::int64_t stored_version();
  void refuse_names_in_use();
  void refuse_other_objects(std::int64_t version);
  void refuse_other_encodings();
  void run(const char* sql);             // for statements without parameters and results
  std::int64_t number(const char* sql);  // returns the first column of the first row
  // Callbacks for sqlite3_busy_handler and sqlite3_progress_handler.
  static int on_busy(void* file, int times) noexcept;
  static int on_progress(void* file) noexcept;
  bool interrupted(Pause pause) noexcept;

  struct Counted {
    Counted() noexcept { ++open_files; }
    ~Counted() { --open_files; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
  };
  static inline std::atomic<int> open_files = 0;

  Counted counted_;
  Objects objects_ = Objects::exact;
  std::string path_;
  std::string log_path_ = path_ + "-wal";
  Duration busy_timeout_;
  Duration waited_ = 0;  // by the present statement
  std::exception_ptr interrupt_;
  std::optional<FileStamp> opened_immutable_;
  SQLite::Database database_;
  OpenFileMark mark_{path_};
};

}  // namespace resonate

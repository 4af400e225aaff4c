#include "storage/sqlite_file.hpp"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "machine/quoted.hpp"
#include "resonate/errors.hpp"
#include "resonate/interruption.hpp"
#include "storage/sqlite_schema.hpp"

namespace resonate {

namespace fs = std::filesystem;

namespace {
// What SQLite appends to the path of a file for those that it makes beside it.
constexpr std::array kBesideFile = {"-wal", "-shm", "-journal"};

// The number of names of a regular file that has more than one.
std::optional<std::uint64_t> several_names(const std::string& path) {
  struct stat seen {};
  if (::stat(path.c_str(), &seen) != 0 || !S_ISREG(seen.st_mode) || seen.st_nlink < 2) return std::nullopt;
  return seen.st_nlink;
}
}  // namespace

FileStamp FileStamp::of(const std::string& path) noexcept {
  struct stat seen {};
  if (::stat(path.c_str(), &seen) != 0) return {};
  return {.device = seen.st_dev,
          .inode = seen.st_ino,
          .size = seen.st_size,
          .changed_at_ns = seen.st_mtim.tv_sec * 1'000'000'000 + seen.st_mtim.tv_nsec};
}

std::string absolute_path(const std::string& path) {
  std::error_code problem;
  std::string found = fs::absolute(path, problem).string();
  if (problem)
    throw Error(ErrorCode::storage,
                "store " + resonate::quoted(path) + ": cannot open: the working folder no longer exists: " + problem.message());
  return found;
}

std::string real_path(const std::string& given) {
  constexpr int kMostLinks = 40;
  fs::path path = absolute_path(given);
  std::error_code problem;
  for (int links = 0; fs::is_symlink(path, problem); ++links) {
    const fs::path target = fs::read_symlink(path, problem);
    if (problem || links == kMostLinks)
      throw Error(ErrorCode::storage, "store " + resonate::quoted(absolute_path(given)) +
                                          ": cannot open: " + (problem ? problem.message() : "its symbolic links have no end"));
    path = path.parent_path() / target;
  }
  const fs::path folder = fs::canonical(path.parent_path(), problem);
  return problem ? path.string() : (folder / path.filename()).string();  // if there is no folder, opening the file fails
}

std::optional<std::string> problem_of_names(const std::string& path) {
  const std::optional<std::uint64_t> count = several_names(path);
  if (!count) return std::nullopt;
  return "a store's file must have one name, got " + std::to_string(*count) +
         " (hard links): SQLite keeps a log for each name, so users of two names undo each other's commits. Stop them and remove "
         "the other names; keep one that has a log beside it (-wal). `find FOLDER -xdev -samefile " +
         path + "` lists them";
}

std::optional<std::string> problem_of_names_beside(const std::string& path) {
  for (const char* beside : kBesideFile)
    if (const std::optional<std::uint64_t> count = several_names(path + beside))
      return "the file " + resonate::quoted(path + beside) + " beside it must have one name, got " + std::to_string(*count) +
             " (hard links): SQLite writes to it and shortens it, and so changes what has the other names. Copy the store with "
             "all files beside it, and use the copy";
  return std::nullopt;
}

std::optional<std::string> problem_of_journal(const std::string& path) {
  constexpr std::array<unsigned char, 8> kMagic = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
  const std::string name = path + "-journal";
  std::error_code problem;
  if (!fs::is_regular_file(name, problem)) return std::nullopt;  // opening a pipe would wait for ever
  std::ifstream journal(name, std::ios::binary);
  if (journal.get() <= 0) return std::nullopt;  // SQLite plays back no journal that begins with 0
  // The name, its length, a checksum and these bytes end such a journal.
  constexpr std::streamoff kAroundName = 16;
  std::array<unsigned char, kMagic.size()> last{};
  journal.seekg(0, std::ios::end);
  if (journal.tellg() <= kAroundName) return std::nullopt;
  journal.seekg(-static_cast<std::streamoff>(last.size()), std::ios::end);
  journal.read(reinterpret_cast<char*>(last.data()), last.size());
  if (!journal || last != kMagic) return std::nullopt;
  return "its journal " + resonate::quoted(name) +
         " names another file, a super-journal, which SQLite deletes once it has played the journal back. No store writes such a "
         "journal: do not use a file of a stranger with it. If an application that attaches databases has left it, let that "
         "application open the file first";
}

namespace {

// Bytes of a log that is longer than one usually is: SQLite copies a log into its file from 1000 pages on.
constexpr std::int64_t kLongLog = 16 * 1024 * 1024;

// Steps of SQLite's virtual machine between two checks for an interrupt: about a millisecond.
constexpr int kStepsPerInterruptCheck = 50'000;

// Describes SQLite's error for the operator.
std::string cause_of(int code, const std::string& said, int system_error) {
  const std::string system = system_error == 0 ? std::string() : std::string(": ") + std::strerror(system_error);
  switch (code & 0xff) {
    case SQLITE_NOTADB: return "it is not a SQLite database";
    case SQLITE_CORRUPT: return "it is damaged (" + said + ")";
    case SQLITE_FULL: return "the disk is full";
    case SQLITE_READONLY: return "it cannot be written (" + said + ")";
    case SQLITE_PERM: return "access is denied";
    case SQLITE_CANTOPEN: return "the system does not open it" + system;
    case SQLITE_IOERR: return "the disk or the network mount failed (" + said + ")" + system;
    case SQLITE_ERROR: return said;
    default: return said + system;
  }
}

// Removes a file that this process created and could not complete.
class NewFileGuard {
 public:
  explicit NewFileGuard(const std::string& path) : path_(path) {
    std::error_code ignored;
    was_there_ = fs::exists(path, ignored);
  }
  ~NewFileGuard() {
    std::error_code ignored;
    if (!kept_ && !was_there_ && fs::file_size(path_, ignored) == 0 && !ignored) fs::remove(path_, ignored);
  }
  void keep() noexcept { kept_ = true; }
  NewFileGuard(const NewFileGuard&) = delete;
  NewFileGuard& operator=(const NewFileGuard&) = delete;

 private:
  const std::string& path_;
  bool was_there_ = false;
  bool kept_ = false;
};

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(ErrorCode::storage, "store " + resonate::quoted(path) + ": cannot open: " + why);
}

std::string folder_of(const std::string& path) { return fs::path(path).parent_path().string(); }

// The path as SQLite's URI. `immutable` promises that nothing writes to the file, so SQLite uses neither the log nor locks.
std::string immutable_uri(const std::string& path) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string uri = "file:";
  for (const char one : path) {
    if (one == '%' || one == '?' || one == '#') {
      uri += {'%', kDigits[static_cast<unsigned char>(one) >> 4], kDigits[static_cast<unsigned char>(one) & 15]};
    } else {
      uri += one;
    }
  }
  return uri + "?immutable=1";
}

// Reading a database in WAL mode needs the `-shm` file beside it, which SQLite creates if it can. If it cannot and there is no log,
// the database file holds everything and is opened as immutable.
bool must_open_immutable(const std::string& path, const SqliteOptions& options) {
  if (!options.read_only || ::faccessat(AT_FDCWD, folder_of(path).c_str(), W_OK | X_OK, AT_EACCESS) == 0) return false;
  const FileStamp log = FileStamp::of(path + "-wal");
  if (log.size >= 0 && FileStamp::of(path + "-shm").size >= 0) return false;  // of a process that writes, or left by one
  if (log.size > 0)
    refuse(path, "its newest commits are in its log " + resonate::quoted(path + "-wal") + ", which cannot be read without a file " +
                     resonate::quoted(path + "-shm") +
                     ", and that cannot be created in its folder: copy the file and its log into a writable folder");
  return true;
}

SQLite::Database connect(const std::string& path, const SqliteOptions& options, bool make, bool immutable) {
  std::error_code problem;
  const std::string folder = folder_of(path);
  if (!fs::is_directory(folder, problem)) refuse(path, "the folder " + resonate::quoted(folder) + " does not exist");
  if (fs::is_directory(path, problem)) refuse(path, "it is a folder, not a file");
  if (!make && !fs::exists(path, problem)) refuse(path, "the file does not exist");
  // Opening a pipe for reading would wait for a writer, and that for ever. One look: another process may remove a journal
  // meanwhile.
  const auto is_other = [&problem](const std::string& name) {
    const fs::file_status found = fs::status(name, problem);
    return fs::exists(found) && !fs::is_regular_file(found);
  };
  if (is_other(path)) refuse(path, "it is not a regular file");
  for (const char* beside : kBesideFile)
    if (const std::string name = path + beside; is_other(name)) refuse(path, resonate::quoted(name) + " is not a regular file");
  if (const std::optional<std::string> journal = problem_of_journal(path)) refuse(path, *journal);
  // SQLite would retry without creating the file and then report that the file does not exist.
  if (make && !fs::exists(path, problem) && ::access(folder.c_str(), W_OK | X_OK) != 0)
    refuse(path, "cannot create a file in its folder: " + std::string(std::strerror(errno)));
  int access = options.read_only ? SQLite::OPEN_READONLY : SQLite::OPEN_READWRITE | (make ? SQLite::OPEN_CREATE : 0);
  if (immutable) access |= SQLite::OPEN_URI;
  if (is_open_in_another_copy(path))
    refuse(path,
           "this process has it open with Python's sqlite3, whose SQLite library is another copy than that of resonate_core: two "
           "copies undo each other's locks; close it there, or open the store in another process");
  try {
    return SQLite::Database(immutable ? immutable_uri(path) : path, access | SQLite::OPEN_NOMUTEX);
  } catch (const SQLite::Exception& error) {
    refuse(path, cause_of(error.getErrorCode(), error.getErrorStr(), errno));
  }
}

}  // namespace

// Waits with growing pauses, as SQLite's own busy handler does, and checks for the caller's interrupt at each pause. It adds up the
// pauses instead of reading a clock.
int SqliteFile::on_busy(void* file, int times) noexcept {
  auto& self = *static_cast<SqliteFile*>(file);
  if (times == 0) self.waited_ = 0;
  constexpr std::array<Duration, 8> kPauses = {1, 2, 5, 10, 15, 20, 25, kLongestPause};
  const Duration left = self.busy_timeout_ - self.waited_;
  if (left <= 0 || self.interrupted(Pause::waiting)) return 0;
  const Duration pause = std::min(left, kPauses[std::min<std::size_t>(static_cast<std::size_t>(times), kPauses.size() - 1)]);
  const timespec time{.tv_sec = 0, .tv_nsec = static_cast<long>(pause) * 1'000'000};
  (void)nanosleep(&time, nullptr);  // a signal ends the pause early; that does no harm
  self.waited_ += pause;
  return self.interrupted(Pause::waiting) ? 0 : 1;
}

int SqliteFile::on_progress(void* file) noexcept { return static_cast<SqliteFile*>(file)->interrupted(Pause::working) ? 1 : 0; }

// SQLite is C, so an exception must not pass through it: it is stored here and thrown when SQLite has returned.
bool SqliteFile::interrupted(Pause pause) noexcept {
  try {
    allow_interrupt(pause);
    return false;
  } catch (...) {
    interrupt_ = std::current_exception();
    return true;
  }
}

void SqliteFile::throw_interrupt() {
  if (interrupt_) std::rethrow_exception(std::exchange(interrupt_, nullptr));
}

void SqliteFile::fail(const char* action, const SQLite::Exception& error) {
  throw_interrupt();
  const int code = error.getErrorCode();
  if ((code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED)
    throw Error(ErrorCode::busy, "store " + resonate::quoted(path_) + " is busy: cannot " + action +
                                     " because another process has held it for at least " + std::to_string(busy_timeout_) + " ms");
  sqlite3* handle = database_.getHandle();
  const int extended = error.getExtendedErrorCode() > 0 ? error.getExtendedErrorCode() : code;
  throw Error(ErrorCode::storage, "store " + resonate::quoted(path_) + ": cannot " + action + ": " +
                                      cause_of(extended, (extended & 0xff) == SQLITE_ERROR ? error.what() : error.getErrorStr(),
                                               handle ? sqlite3_system_errno(handle) : 0));
}

SqliteFile::SqliteFile(const std::string& path, const SqliteOptions& options, Absent absent)
    : path_(path),
      busy_timeout_(options.busy_timeout),
      opened_immutable_(must_open_immutable(path, options) ? std::optional(FileStamp::of(path)) : std::nullopt),
      database_(connect(path, options, absent == Absent::make && !options.read_only, opened_immutable_.has_value())) {
  sqlite3_busy_handler(database_.getHandle(), &on_busy, this);
  sqlite3_progress_handler(database_.getHandle(), kStepsPerInterruptCheck, &on_progress, this);
}

// SQLite reports a lock at once, without the busy handler, where two connections would wait for each other, as when both make the
// write-ahead log of a new file. The body is then run again, until the pauses are as long as the handler's.
template <class Body>
void SqliteFile::waiting(Body body) {
  waited_ = 0;
  for (int times = 1;; ++times) {
    try {
      return body();
    } catch (const SQLite::Exception& error) {
      if ((error.getErrorCode() & 0xff) != SQLITE_BUSY || interrupt_ || !on_busy(this, times)) throw;
    }
  }
}

template <class Body>
auto SqliteFile::opening(Body body) {
  try {
    return body();
  } catch (const SQLite::Exception& error) {
    fail("open", error);
  }
}

std::unique_ptr<SqliteFile> SqliteFile::open(const std::string& path, const SqliteOptions& options, Absent absent,
                                             Objects objects) {
  NewFileGuard guard(path);
  std::unique_ptr<SqliteFile> file(new SqliteFile(path, options, absent));
  file->objects_ = objects;
  file->opening([&] { file->waiting([&] { file->prepare(options); }); });
  guard.keep();
  return file;
}

std::int64_t SqliteFile::version_of(const std::string& path) {
  if (const std::optional<std::string> problem = problem_of_names_beside(path)) refuse(path, *problem);
  SqliteFile file(path, {.durability = Durability::full, .read_only = true}, Absent::refuse);
  return file.opening([&] { return file.checked_version(true); });
}

// Two copies of one version have one source id.
SqliteLibrary sqlite_library() {
  const std::string copy = sqlite_is_own_copy() ? " (resonate_core's own copy)" : "";
  return {sqlite3_sourceid() + copy, SqliteFile::open_count()};
}

SchemaVersions sqlite_schema_versions(const std::string& given) {
  const std::string path = real_path(given);
  const std::int64_t found = SqliteFile::version_of(path);
  return {path, found > 0 ? std::optional(found) : std::nullopt, sqlite_schema_version()};
}

bool SqliteFile::is_outdated() const noexcept {
  return opened_immutable_ && (FileStamp::of(path_ + "-wal").size > 0 || FileStamp::of(path_) != *opened_immutable_);
}

// While a reader is in its transaction, a log only grows. SQLite shortens it neither when the reader ends nor at the next commit.
void SqliteFile::shorten_log() noexcept {
  if (FileStamp::of(log_path_).size <= kLongLog) return;
  sqlite3* const handle = database_.getHandle();
  sqlite3_busy_handler(handle, nullptr, nullptr);
  try {
    // Copies the log into the file as far as readers permit, beside other writers. If nothing is left to copy, the second step
    // holds them up only while it empties the log.
    SQLite::Statement copies(database_, "PRAGMA wal_checkpoint(PASSIVE)");
    const bool copied =
        copies.executeStep() && copies.getColumn(0).getInt() == 0 && copies.getColumn(1).getInt() == copies.getColumn(2).getInt();
    copies.reset();
    if (copied) run("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch (const SQLite::Exception&) {  // the log stays long; a disk that fails fails the next commit, too
  }
  sqlite3_busy_handler(handle, &on_busy, this);
}

void SqliteFile::run(const char* sql) { database_.exec(sql); }

std::int64_t SqliteFile::number(const char* sql) { return database_.execAndGet(sql).getInt64(); }

// The schema version of the store in the file, of this release or an earlier one; 0: the file holds no store.
std::int64_t SqliteFile::stored_version() {
  std::int64_t version = 0;
  if (number("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'resonate_store_version'") > 0) {
    refuse_other_objects(0);
    version = number("SELECT max(version) FROM resonate_store_version");
    if (version < kVersionInTable) refuse_schema(version, "which no release has written");
  } else if (number("PRAGMA application_id") == kSqliteApplicationId) {
    version = number("PRAGMA user_version");
    if (version < 1 || (version >= kVersionInTable && version <= sqlite_schema_version()))
      refuse_schema(version, "which no release has written");
  }
  if (version > sqlite_schema_version())
    refuse(path_, "its schema version must be at most " + std::to_string(sqlite_schema_version()) + ", got " +
                      std::to_string(version) + ": a newer release has written it");
  return version;
}

void SqliteFile::refuse_schema(std::int64_t version, const std::string& why) const {
  refuse(path_, "its schema is version " + std::to_string(version) + ", " + why +
                    ": another program has changed it, or it is damaged; use a backup");
}

// The tables of an application may have names that the store needs.
void SqliteFile::refuse_names_in_use() {
  for (const SqliteObject& found : sqlite_objects(database_))
    for (const SqliteObject& needed : sqlite_schema())
      if (found.name == needed.name)
        refuse(path_, "a store needs the name " + resonate::quoted(found.name) + ", which is in use in this file");
}

// Another object in the place of one of the store's runs code of the file with each statement, without an end if it is meant so: a
// view, a virtual table, generated columns, other rules or indexes. Of an earlier version, only the kinds are known here; before
// the version is read (0), only what its table must be.
void SqliteFile::refuse_other_objects(std::int64_t version) {
  const bool exact = version == sqlite_schema_version() && objects_ == Objects::exact;
  const auto refuse_unless_ours = [&](const SqliteObject& found, const SqliteObject& ours) {
    const bool is_version = ours.name == "resonate_store_version";
    if (found.name != ours.name || (version == 0 && !is_version)) return;
    if (is_same(found, ours) || (found.type == ours.type && !is_version && !exact) || (objects_ == Objects::any && !is_version))
      return;
    const std::string kind = found.type == ours.type ? "a " + ours.type + " of another schema" : "a " + found.type;
    refuse(path_, resonate::quoted(found.name) + " must be the " + ours.type + " of a store, got " + kind +
                      ": another program has made it; `resonate-core check` names all such objects");
  };
  for (const SqliteObject& found : sqlite_objects(database_))
    for (const auto* const known : {&sqlite_schema(), &sqlite_optional_objects()})
      for (const SqliteObject& ours : *known) refuse_unless_ours(found, ours);
}

// SQLite compares texts by the bytes of the file's encoding. Only those of UTF-8 have the order of the protocol.
void SqliteFile::refuse_other_encodings() {
  if (const std::string encoding = database_.execAndGet("PRAGMA encoding").getString(); encoding != "UTF-8")
    refuse(path_, "its texts must be in UTF-8, got " + encoding +
                      ": SQLite sorts them differently; copy its tables into a new file, whose encoding is UTF-8 by default");
}

// The version, checked with the names of the tables in one snapshot: another process may make a store in the file meanwhile.
std::int64_t SqliteFile::checked_version(bool read_only) {
  SQLite::Transaction snapshot(database_);
  refuse_other_encodings();
  const std::int64_t version = stored_version();
  if (version == 0 && !read_only) refuse_names_in_use();
  if (version > 0) refuse_other_objects(version);
  snapshot.commit();
  return version;
}

// Checks the file before anything is written to it. May run again after SQLITE_BUSY.
void SqliteFile::prepare(const SqliteOptions& options) {
  run("PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -32768");
  // With a write-ahead log, EXTRA equals FULL. Before there is one, EXTRA also syncs the folder, so that a deleted journal cannot
  // reappear after a power failure.
  run("PRAGMA synchronous = EXTRA");
  const std::int64_t version = checked_version(options.read_only);
  if (options.read_only) {
    if (version == 0) refuse(path_, "it contains no store, and a read-only store creates no tables");
    if (version < sqlite_schema_version())
      refuse(path_, "its schema version must be " + std::to_string(sqlite_schema_version()) + ", got " + std::to_string(version) +
                        ": a read-only store cannot migrate it; open it for writing once");
    return;
  }
  if (const std::string mode = database_.execAndGet("PRAGMA journal_mode = WAL").getString(); mode != "wal")
    refuse(path_, "its file system does not support a write-ahead log (journal mode " + mode + ")");
  // Of a log that a writer begins again, which needs a moment without readers.
  run(("PRAGMA journal_size_limit = " + std::to_string(kLongLog)).c_str());
  if (version < sqlite_schema_version()) migrate();
  if (options.durability == Durability::normal) run("PRAGMA synchronous = NORMAL");
}

void SqliteFile::migrate() {
  SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
  // Reads the version again under the lock: another process may have migrated the file meanwhile, perhaps to a newer version.
  const std::int64_t version = stored_version();
  if (version == sqlite_schema_version()) return;
  const bool is_ours = version > 0 ? version < kVersionInTable : number("SELECT count(*) FROM sqlite_schema") == 0;
  try {
    if (version == 0) run(sqlite_creation().c_str());
    for (std::int64_t next = version; version > 0 && next < sqlite_schema_version(); ++next)
      run(sqlite_migrations()[static_cast<std::size_t>(next)]);
  } catch (const SQLite::Exception& error) {
    if (error.getErrorCode() != SQLITE_ERROR) throw;
    if (version > 0) refuse_schema(version, "and its tables are not of that version (" + std::string(error.what()) + ")");
    refuse(path_, "the tables of a store cannot be made: " + std::string(error.what()));
  }
  refuse_other_objects(sqlite_schema_version());  // of an earlier version, only their kinds were compared
  run(("UPDATE resonate_store_version SET version = " + std::to_string(sqlite_schema_version())).c_str());
  if (is_ours) {  // in a file that the store has made, so that releases which do not know the table refuse it
    run(("PRAGMA user_version = " + std::to_string(sqlite_schema_version())).c_str());
    run(("PRAGMA application_id = " + std::to_string(kSqliteApplicationId)).c_str());
  }
  transaction.commit();
}

}  // namespace resonate

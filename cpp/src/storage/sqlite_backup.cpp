// Writes a store's whole state to a new file.
#include <SQLiteCpp/Backup.h>
#include <sqlite3.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <system_error>

#include "resonate/errors.hpp"
#include "resonate/file_rights.hpp"
#include "storage/sqlite_file.hpp"

namespace resonate {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_backup(const std::string& target, const std::string& why) {
  throw Error(ErrorCode::storage, "backup \"" + target + "\": " + why);
}

void sync(const std::string& path, const std::string& target) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = file >= 0 && ::fsync(file) == 0;
  const int problem = errno;
  if (file >= 0) (void)::close(file);
  if (!synced) refuse_backup(target, std::string("cannot be synced to the disk: ") + std::strerror(problem));
}

[[noreturn]] void refuse_existing(const std::string& target) {
  refuse_backup(target, "the target must not exist: choose another path");
}

// Creates an empty file beside the target under a name that no other thread or process uses.
std::string make_partial(const std::string& target, const FileRights& rights) {
  for (int number = 0;; ++number) {
    std::string partial = target + ".partial-" + std::to_string(::getpid()) + "-" + std::to_string(number);
    const int file = open_with_rights(partial, O_WRONLY | O_EXCL, rights);
    if (file >= 0) {
      (void)::close(file);
      return partial;
    }
    if (errno != EEXIST) refuse_backup(target, std::string("cannot create a file in its folder: ") + std::strerror(errno));
  }
}

// Gives a file the target's name. Fails if another program has created the target meanwhile.
void rename_to_new(const std::string& partial, const std::string& target) {
#if defined(RENAME_NOREPLACE)
  if (::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE) == 0) return;
  if (errno != EINVAL && errno != ENOSYS) throw fs::filesystem_error("rename", std::error_code(errno, std::system_category()));
#endif
  fs::create_hard_link(partial, target);  // for a moment the file has two names, under which no store opens it
  fs::remove(partial);
}

// Fills a file beside the target, then gives it the target's name. If several callers use the same target, one succeeds.
void write_then_rename(const std::string& target, const FileRights& rights, const std::function<void(const std::string&)>& fill) {
  std::error_code problem;
  if (fs::exists(fs::symlink_status(target, problem))) refuse_existing(target);
  const std::string partial = make_partial(target, rights);
  try {
    fill(partial);
    sync(partial, target);
    rename_to_new(partial, target);
  } catch (const fs::filesystem_error& error) {
    for (const char* beside : {"", "-wal", "-shm", "-journal"}) fs::remove(partial + beside, problem);
    if (error.code() == std::errc::file_exists) refuse_existing(target);
    refuse_backup(target, error.code().message());
  } catch (...) {
    for (const char* beside : {"", "-wal", "-shm", "-journal"}) fs::remove(partial + beside, problem);
    throw;
  }
  sync(fs::path(target).parent_path().string(), target);
}

}  // namespace

void backup_sqlite_file(const std::string& source, const std::string& given) {
  const std::string target = absolute_path(given);
  const std::string real = real_path(source);
  write_then_rename(target, rights_of_copy(real), [&](const std::string& partial) {
    if (!is_open_in_a_store(real))  // else SQLite has them open, too
      if (const std::optional<std::string> problem = problem_of_names_beside(real)) refuse_backup(target, *problem);
    const auto from = SqliteFile::open(real, {.durability = Durability::full, .read_only = true});
    try {
      SQLite::Database to(partial, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
      SQLite::Backup backup(to, from->database());
      // Copies all pages in one step, within one read transaction; otherwise a concurrent commit would restart the copy.
      if (const int said = backup.executeStep(-1); said != SQLITE_DONE) refuse_backup(target, sqlite3_errstr(said));
    } catch (const SQLite::Exception& error) {
      refuse_backup(target, error.getErrorStr());
    }
  });
}

void write_sqlite_file(Storage& source, const std::string& given) {
  const std::string target = absolute_path(given);
  write_then_rename(target, rights_of_copy(source.location()), [&](const std::string& partial) {
    const std::unique_ptr<Storage> to = open_sqlite_storage(partial, {});
    const StorageTransaction writing(*to, Access::write);
    copy_state(source, *to);
  });
}

}  // namespace resonate

#include "storage/sqlite_copies.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace resonate {

namespace {

using Inode = std::pair<std::uint64_t, std::uint64_t>;  // with its device before it

struct OpenFiles {
  std::mutex mutex;
  std::vector<Inode> all;  // one for each connection
};
OpenFiles& open_files() {
  static OpenFiles* const all = new OpenFiles;  // never destroyed: a storage may outlive every static object
  return *all;
}

Inode inode_of(const struct stat& seen) { return {seen.st_dev, seen.st_ino}; }

std::optional<Inode> inode_of(const std::string& path) {
  struct stat seen {};
  if (::stat(path.c_str(), &seen) != 0) return std::nullopt;
  return inode_of(seen);
}

bool is_marked(const Inode& inode) {
  OpenFiles& open = open_files();
  std::lock_guard lock(open.mutex);
  return std::find(open.all.begin(), open.all.end(), inode) != open.all.end();
}

}  // namespace

OpenFileMark::OpenFileMark(const std::string& path) {
  const std::optional<Inode> inode = inode_of(path);
  if (!inode) return;
  std::tie(device_, inode_) = *inode;
  OpenFiles& open = open_files();
  std::lock_guard lock(open.mutex);
  open.all.push_back(*inode);
}

OpenFileMark::~OpenFileMark() {
  OpenFiles& open = open_files();
  std::lock_guard lock(open.mutex);
  const auto mark = std::find(open.all.begin(), open.all.end(), Inode(device_, inode_));
  if (mark != open.all.end()) open.all.erase(mark);
}

bool is_open_in_a_store(const std::string& path) {
  const std::optional<Inode> inode = inode_of(path);
  return inode && is_marked(*inode);
}

bool is_open_in_another_copy(const std::string& path) {
  if (!sqlite_is_own_copy()) return false;
  struct stat file {};
  // An empty file with an open descriptor is more likely one of Python's tempfile, which opens files as SQLite does.
  if (::stat(path.c_str(), &file) != 0 || file.st_size == 0) return false;
  const Inode inode = inode_of(file);
  if (is_marked(inode)) return false;
  DIR* const folder = ::opendir("/proc/self/fd");
  if (!folder) return false;
  bool found = false;
  while (const dirent* const entry = ::readdir(folder)) {
    const int descriptor = std::atoi(entry->d_name);  // "." and ".." become 0, which is examined anyway
    struct stat seen {};
    if (::fstat(descriptor, &seen) != 0 || inode_of(seen) != inode) continue;
    // SQLite opens a file without following links, Python's open() and most programs do not: their files are not refused.
    const int flags = ::fcntl(descriptor, F_GETFL);
    found = found || (flags != -1 && (flags & O_NOFOLLOW) != 0);
  }
  ::closedir(folder);
  return found;
}

}  // namespace resonate

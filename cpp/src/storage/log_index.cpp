#include "storage/log_index.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace resonate {

// The file is not opened for reading: closing such a descriptor would drop the locks that SQLite holds on the file for this
// process. Closing a descriptor from O_PATH (Linux) drops no lock.
LogIndex::LogIndex(const std::string& path) noexcept : path_(path + "-shm") {
  struct stat now {};
  known_ = ::stat(path_.c_str(), &now) == 0;
  device_ = now.st_dev;
  inode_ = now.st_ino;
  size_ = now.st_size;
#if defined(O_PATH)
  if (known_) file_ = ::open(path_.c_str(), O_PATH | O_CLOEXEC);
#endif
}

LogIndex::~LogIndex() {
  if (file_ >= 0) (void)::close(file_);
}

std::string LogIndex::examine(std::uint64_t links, off_t size) noexcept {
  if (links == 0) return "was removed";
  if (size < size_) {
    // Truncates to 0 first: a header that stays valid would make SQLite trust a frame table whose pages are now zero.
    const bool repaired = ::truncate(path_.c_str(), 0) == 0 && ::truncate(path_.c_str(), size_) == 0;
    return repaired ? "was truncated" : "was truncated, and its length cannot be restored";
  }
  size_ = size;
  return {};
}

std::string LogIndex::check() noexcept {
  struct stat now {};
  if (!known_) return {};
  if (::stat(path_.c_str(), &now) != 0) return "was removed";
  if (now.st_dev != device_ || now.st_ino != inode_) return "was replaced";
  return examine(now.st_nlink, now.st_size);
}

std::string LogIndex::check_quickly() noexcept {
  struct stat now {};
  if (file_ < 0 || ::fstat(file_, &now) != 0) return check();
  return examine(now.st_nlink, now.st_size);
}

}  // namespace resonate

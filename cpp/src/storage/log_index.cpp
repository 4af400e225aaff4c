#include "storage/log_index.hpp"

#include <sys/stat.h>
#include <unistd.h>

namespace resonate {

LogIndex::LogIndex(const std::string& path) noexcept : path_(path + "-shm") {
  struct stat now {};
  known_ = ::stat(path_.c_str(), &now) == 0;
  device_ = now.st_dev;
  inode_ = now.st_ino;
  size_ = now.st_size;
}

// By name: to open the file and close it again would drop the locks that SQLite holds on it for this process.
std::string LogIndex::look() noexcept {
  struct stat now {};
  if (!known_) return {};
  if (::stat(path_.c_str(), &now) != 0) return "was removed";
  if (now.st_dev != device_ || now.st_ino != inode_) return "was replaced";
  if (now.st_size < size_) {
    // All of it: a header that is sound would vouch for a table of frames that is gone.
    const bool mended = ::truncate(path_.c_str(), 0) == 0 && ::truncate(path_.c_str(), size_) == 0;
    return mended ? "was cut off" : "was cut off, and cannot be given its length again";
  }
  size_ = now.st_size;
  return {};
}

}  // namespace resonate

// The file beside a database in WAL mode (`-shm`) that holds the index of its log. SQLite maps it into memory. If another program
// truncates the file, the next access ends this process with SIGBUS; if another program removes it, processes that open the
// database later use a different index.
//
// SQLite does not detect either, so a connection checks before each transaction. A change during a transaction is not detected.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace resonate {

class LogIndex {
 public:
  // `path`: the database's path as SQLite names it. Construct it after the connection has read the database. Without a `-shm` file,
  // the checks find nothing.
  explicit LogIndex(const std::string& path) noexcept;
  ~LogIndex();
  LogIndex(const LogIndex&) = delete;
  LogIndex& operator=(const LogIndex&) = delete;

  // Returns what another program did to the file since construction; empty: nothing. A truncated file is emptied and given its old
  // length, so that the connection can be closed and SQLite rebuilds the index from the log.
  std::string check() noexcept;
  // The same check at a third of the cost. It does not detect that the file was only moved away.
  std::string check_quickly() noexcept;

  const std::string& path() const noexcept { return path_; }

 private:
  std::string examine(std::uint64_t links, off_t size) noexcept;

  std::string path_;
  int file_ = -1;  // identifies the file; it cannot be read through this
  bool known_ = false;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  off_t size_ = 0;
};

}  // namespace resonate

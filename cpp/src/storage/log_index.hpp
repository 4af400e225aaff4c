// The file beside a database in WAL mode (`-shm`) that holds the index of its log. SQLite maps it into memory: if somebody else
// cuts it off, the next access ends the process with SIGBUS, and if somebody removes it, processes that come later share another
// one.
//
// SQLite does not look, so a connection looks before each transaction. It cannot see what happens within one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace resonate {

class LogIndex {
 public:
  // `path`: of the database, as SQLite names it, once the connection has read it. Without such a file there is nothing to look at.
  explicit LogIndex(const std::string& path) noexcept;
  ~LogIndex();
  LogIndex(const LogIndex&) = delete;
  LogIndex& operator=(const LogIndex&) = delete;

  // What somebody did to the file since it was noted; empty: nothing. If it was cut off it is emptied and has its length again, so
  // that the connection can be closed, and SQLite makes the index anew from the log.
  std::string look() noexcept;
  // The same for a third of the price; it overlooks a file that was only moved away.
  std::string look_quickly() noexcept;

  const std::string& path() const noexcept { return path_; }

 private:
  std::string judge(std::uint64_t links, off_t size) noexcept;

  std::string path_;
  int file_ = -1;  // it names the file, and cannot read it
  bool known_ = false;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  off_t size_ = 0;
};

}  // namespace resonate

// Files that the stores of this process have open, and files that another copy of SQLite has open.
#pragma once

#include <cstdint>
#include <string>

#include "resonate/sqlite_copies.hpp"

namespace resonate {

// Marks a file as open in a store, from its construction on until its destruction.
class OpenFileMark {
 public:
  explicit OpenFileMark(const std::string& path);
  ~OpenFileMark();
  OpenFileMark(const OpenFileMark&) = delete;
  OpenFileMark& operator=(const OpenFileMark&) = delete;

 private:
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
};

// True if the stores use a copy of SQLite of their own, none of them has this file open, and another copy in this process has.
bool is_open_in_another_copy(const std::string& path);

}  // namespace resonate

// The rights of a file with the contents of another one (a backup, a copy, a recording): no more than that one has.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <optional>
#include <string>

namespace resonate {

struct FileRights {
  mode_t mode = 0644;                     // less what the process's mask takes away
  std::optional<gid_t> group = {};        // whose rights those of a group are; none: that of the process
  static constexpr mode_t kOwner = 0600;  // the owner of a new file may use it in any case
};

// The rights of a file with the contents of the store at `source`: at most those that its file has. A database admits no client
// without its password, so there they are the owner's. Empty: a state in memory, which nothing protects.
FileRights rights_of_copy(const std::string& source);

// Opens a file as open(2) does, with these rights if it makes the file. Returns -1 and sets errno.
int open_with_rights(const std::string& path, int flags, const FileRights& rights);

}  // namespace resonate

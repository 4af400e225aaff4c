#include "resonate/file_rights.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "resonate/postgres.hpp"

namespace resonate {

namespace {

// Gives a new file to a group, or takes the rights of its own group away if this process may not.
bool give_to_group(int file, gid_t group) {
  struct stat made {};
  if (::fstat(file, &made) != 0) return false;
  if (made.st_gid == group || ::fchown(file, static_cast<uid_t>(-1), group) == 0) return true;
  return ::fchmod(file, made.st_mode & 0606) == 0;
}

}  // namespace

FileRights rights_of_copy(const std::string& source) {
  if (source.empty()) return {};
  struct stat seen {};
  if (is_postgres_url(source) || ::stat(source.c_str(), &seen) != 0) return {.mode = FileRights::kOwner};
  return {.mode = (seen.st_mode & 0666) | FileRights::kOwner, .group = seen.st_gid};
}

int open_with_rights(const std::string& path, int flags, const FileRights& rights) {
  const int made = ::open(path.c_str(), flags | O_CREAT | O_EXCL | O_CLOEXEC, rights.mode);
  if (made < 0) {
    const bool may_exist = errno == EEXIST && (flags & O_EXCL) == 0;
    return may_exist ? ::open(path.c_str(), flags | O_CREAT | O_CLOEXEC, FileRights::kOwner) : -1;
  }
  if (!rights.group || give_to_group(made, *rights.group)) return made;
  const int problem = errno;
  (void)::close(made);
  (void)::unlink(path.c_str());
  errno = problem;
  return -1;
}

}  // namespace resonate

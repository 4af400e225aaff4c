// A snapshot of a file's state, for reading while others write.
#include <memory>
#include <utility>

#include "machine/quoted.hpp"
#include "resonate/errors.hpp"
#include "storage/sqlite_storage.hpp"

namespace resonate {

// A snapshot is a read transaction on a second connection.
std::unique_ptr<Storage> SqliteStorage::snapshot(std::unique_ptr<Storage> used) {
  if (!used) {
    SqliteOptions options = options_;
    options.read_only = true;
    used = std::make_unique<SqliteStorage>(location(), options);
  }
  used->begin(Access::read);
  auto& other = static_cast<SqliteStorage&>(*used);
  const Counters& seen = other.known_.counters;
  if (seen.sequence < known_.counters.sequence || seen.now < known_.counters.now)
    throw Error(ErrorCode::storage,
                "store " + resonate::quoted(location()) +
                    ": another file has replaced it, and the store still has the old one open: open the store again");
  other.known_.unsaved_now = known_.unsaved_now;
  return used;
}

}  // namespace resonate

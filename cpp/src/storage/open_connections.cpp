#include "storage/open_connections.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include "resonate/postgres.hpp"
#include "resonate/storage.hpp"

namespace resonate {

namespace {

struct Connections {
  std::mutex mutex;
  std::vector<OpenConnection*> all;
};
Connections& connections() {
  static Connections* const all = new Connections;  // never destroyed: a storage may outlive every static object
  return *all;
}

}  // namespace

OpenConnection::OpenConnection() {
  Connections& open = connections();
  std::lock_guard lock(open.mutex);
  open.all.push_back(this);
}

OpenConnection::~OpenConnection() {
  Connections& open = connections();
  std::lock_guard lock(open.mutex);
  std::erase(open.all, this);
}

void close_connections_for_fork() noexcept {
  Connections& open = connections();
  std::lock_guard lock(open.mutex);
  // The newest first: snapshots close before their writer, whose connection to a file is then the last and checkpoints the log.
  for (auto one = open.all.rbegin(); one != open.all.rend(); ++one) (*one)->disconnect();
}

void resume_connections_after_fork() noexcept {
  Connections& open = connections();
  std::lock_guard lock(open.mutex);
  for (OpenConnection* const one : open.all) one->resume();
}

}  // namespace resonate

#include "resonate/watch.hpp"

#include <unistd.h>
#include <cerrno>

namespace resonate {

void Watch::ring() noexcept {
  if (rung_.exchange(true)) return;
  std::lock_guard lock(mutex_);
  if (descriptor_ < 0) return;
  // A full pipe has a byte in it already, and whoever closed the other end does not wait any more.
  while (::write(descriptor_, "!", 1) < 0 && errno == EINTR) {
  }
}

void Watch::close() noexcept {
  std::lock_guard lock(mutex_);
  descriptor_ = -1;
}

bool Watch::closed() noexcept {
  std::lock_guard lock(mutex_);
  return descriptor_ < 0;
}

}  // namespace resonate

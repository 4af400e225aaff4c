#include "codec/dialect_2026_04_01.hpp"

namespace resonate::dialect_2026_04_01 {

const KindNames kKindNames = {
    "promise.get",
    "promise.create",
    "promise.settle",
    "promise.register_callback",
    "promise.register_listener",
    "promise.search",
    "task.get",
    "task.create",
    "task.acquire",
    "task.release",
    "task.suspend",
    "task.fulfill",
    "task.fence",
    "task.heartbeat",
    "task.halt",
    "task.continue",
    "task.search",
    "schedule.get",
    "schedule.create",
    "schedule.delete",
    "schedule.search",
    "debug.start",
    "debug.stop",
    "debug.reset",
    "debug.tick",
    "debug.snap",
};

}  // namespace resonate::dialect_2026_04_01

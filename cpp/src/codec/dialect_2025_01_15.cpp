#include "codec/dialect_2025_01_15.hpp"

namespace resonate::dialect_2025_01_15 {

// Empty: searches, halt, continue and debug.* do not exist here.
const KindNames kKindNames = {
    "promise.get",
    "promise.create",
    "promise.settle",
    "promise.register",
    "promise.subscribe",
    "",
    "task.get",
    "task.create",
    "task.acquire",
    "task.release",
    "task.suspend",
    "task.fulfill",
    "task.fence",
    "task.heartbeat",
    "",
    "",
    "",
    "schedule.get",
    "schedule.create",
    "schedule.delete",
    "",
};

}  // namespace resonate::dialect_2025_01_15

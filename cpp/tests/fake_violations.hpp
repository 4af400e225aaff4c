// What the invariants of a state say about a store that a test breaks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fake_store.hpp"
#include "machine/invariants.hpp"

namespace resonate::fake {

// Returns the names of the violations in a copy of the store after a change, which gets the copy and what is written to it.
inline std::vector<std::string> broken_by(Store& store, auto change) {
  return store.engine->with_storage([&](Storage& storage) {
    const std::unique_ptr<Storage> copy = storage.fork();
    Changes changes;
    changes.counters = copy->counters();
    change(*copy, changes);
    copy->write(changes);
    std::vector<std::string> names;
    for (const Violation& violation : check_state(*copy, RulesId::compatible)) names.push_back(violation.name);
    return names;
  });
}

}  // namespace resonate::fake

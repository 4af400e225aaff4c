// The whole state of a store as a Python value, restoring it, and counts of its records.
#pragma once

#include "open_store.hpp"
#include "shown.hpp"

namespace resonate::python {

JsonDict snapshot(const OpenStore& store, py::handle format);
// Checks the snapshot before it replaces anything.
void restore(const OpenStore& store, py::handle snapshot, bool check);
py::str digest_of(const OpenStore& store);

// {"promises": {state: n}, "tasks": {state: n}, "schedules": n, "messages": n}, projected at the present instant.
JsonDict counts(const OpenStore& store);

}  // namespace resonate::python

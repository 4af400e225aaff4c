// store.apply and store.apply_json: full envelopes, in Python objects or JSON texts (DESIGN 3).
#pragma once

#include "open_store.hpp"
#include "shown.hpp"

namespace resonate::python {

AnyValue apply(const OpenStore& store, py::handle envelope, const OptionalInt& now, bool atomic);
AnyValue apply_json(const OpenStore& store, py::handle envelope, const OptionalInt& now, bool atomic);

}  // namespace resonate::python

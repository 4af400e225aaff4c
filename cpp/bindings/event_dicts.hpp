// Messages in the form of `Store.take_messages`.
#pragma once

#include "record_types.hpp"
#include "shown.hpp"

namespace resonate::python {

// {"key", "address", "message"}
JsonDict message_dict(const MessageRecord& record);

}  // namespace resonate::python

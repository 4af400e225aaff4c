// Messages, internal steps and violations as dicts, and back.
#pragma once

#include "python_node.hpp"
#include "record_types.hpp"
#include "resonate/errors.hpp"
#include "shown.hpp"

namespace resonate::python {

// The message as on the wire.
JsonDict message_body(const MessageRecord& record);
// {"key", "address", "message"}, as Store.take_messages returns it.
JsonDict message_dict(const MessageRecord& record);
// With what the outbox knows of its delivery.
JsonDict message_record_dict(const MessageRecord& record);
JsonDict fired_detail(const Fired& fired);
JsonDict fired_dict(const Fired& fired);
JsonDict violation_dict(const Violation& violation);

// The inverse functions. They throw Malformed.
MessageRecord message_from_dict(const PythonNode& node);
Fired fired_from_dict(const PythonNode& node);
Violation violation_from_dict(const PythonNode& node);

}  // namespace resonate::python

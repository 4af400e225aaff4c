// Requests → envelopes: the other direction of decode.hpp, for traces.
#pragma once

#include <string_view>

#include "resonate/requests.hpp"

namespace resonate {

class JsonSink;

void encode_request(JsonSink& sink, std::string_view corr_id, const Request& request);

}  // namespace resonate

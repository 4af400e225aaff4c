#include "codec/encode_request.hpp"

#include "codec/described_write.hpp"
#include "codec/json_sink.hpp"
#include "codec/kinds.hpp"
#include "codec/members_write.hpp"

namespace resonate {

void encode_request(JsonSink& sink, std::string_view corr_id, const Request& request) {
  sink.begin_object();
  write_text(sink, Field::kind, name_of(kind_of(request.operation), request.dialect));
  sink.key(Field::head);
  encode_head(sink, corr_id, request.dialect);
  sink.key(Field::data);
  encode_data(sink, request);
  sink.end_object();
}

}  // namespace resonate

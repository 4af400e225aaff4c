#include "codec/base64.hpp"
#include "codec/json_sink.hpp"
#include "resonate/jobs.hpp"

namespace resonate {

Value error_value(const JobError& error) {
  JsonSink sink;
  sink.begin_object();
  const auto member = [&sink](std::string_view name, std::string_view text) {
    sink.key(name);
    sink.string(text);
  };
  member("__type", "error");
  member("name", error.code);
  member("message", error.message);
  member("code", error.code);
  if (error.data) member("data", *error.data);
  sink.end_object();
  Value value;
  value.data = base64_encode(sink.take());
  return value;
}

const JobError& expired_job_error() {
  static const JobError kError{"TaskExpired", "the job was not started before its goodUntil", {}};
  return kError;
}

const JobError& deadline_job_error() {
  static const JobError kError{"DeadlineExceeded", "the job was not over before its deadline", {}};
  return kError;
}

const Value& expired_job_value() {
  static const Value kValue = error_value(expired_job_error());
  return kValue;
}

}  // namespace resonate

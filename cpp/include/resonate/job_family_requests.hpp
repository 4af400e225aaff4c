// Requests on the children, messages and runs of a job (JOBS 9).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "resonate/job_requests.hpp"

namespace resonate {

// A child of a job: a promise to create, or to settle.
struct JobStep {
  std::string id;
  std::optional<std::string> state;
  Value value;
  Value param;
  StringMap tags;
  std::optional<Duration> timeout_in;
};
bool may_be_state_of_step(std::string_view state) noexcept;
template <std::same_as<JobStep> T>
constexpr auto fields(Of<T>) {
  return Descriptors{
      member(Field::id, &T::id).text().naming(Names::row),
      member(Field::state, &T::state).one_of(may_be_state_of_step, "pending, resolved, rejected or rejected_canceled"),
      member(Field::value, &T::value),
      member(Field::param, &T::param),
      member(Field::tags, &T::tags).naming(Names::addresses),
      member(Field::timeout_in, &T::timeout_in).duration(0).unlimited(),
  };
}
inline constexpr std::int64_t kMostSteps = 1000;  // of one request
struct JobRecordSteps {
  std::string id;
  std::int64_t version = 0;
  std::vector<JobStep> steps;
};
template <std::same_as<JobRecordSteps> T>
constexpr auto fields(Of<T>) {
  return held_fields<T>().followed_by(member(Field::steps, &T::steps).within(0, kMostSteps).held_to(Limit::length));
}

struct JobReceive {
  std::string id;
  std::int64_t version = 0;
  std::string step;
  std::string topic;
  std::optional<Duration> timeout_in;
};
template <std::same_as<JobReceive> T>
constexpr auto fields(Of<T>) {
  return held_fields<T>().followed_by(member(Field::step, &T::step).text().naming(Names::row),
                                      member(Field::topic, &T::topic).text().naming(Names::nothing),
                                      member(Field::timeout_in, &T::timeout_in).duration(0).unlimited());
}

inline constexpr std::int64_t kMostUnread = 1000;  // messages of one job
struct JobSend {
  std::string id;
  std::string topic;
  Value value;
  std::optional<std::string> key;
};
template <std::same_as<JobSend> T>
constexpr auto fields(Of<T>) {
  return Descriptors{
      member(Field::id, &T::id).text().naming(Names::row),
      member(Field::topic, &T::topic).text().naming(Names::nothing),
      member(Field::value, &T::value),
      member(Field::key, &T::key).text().naming(Names::nothing),
  };
}

struct JobHistory {
  std::string id;
  std::optional<std::int64_t> limit;
  std::string cursor;
};
template <std::same_as<JobHistory> T>
constexpr auto fields(Of<T>) {
  return Descriptors{
      member(Field::id, &T::id).text().naming(Names::row),
      member(Field::limit, &T::limit).within(1, 1000),
      member(Field::cursor, &T::cursor).otherwise(0).naming(Names::nothing),
  };
}

struct JobStartOver {
  std::string id;
  std::int64_t version = 0;
  Value args;
};
template <std::same_as<JobStartOver> T>
constexpr auto fields(Of<T>) {
  return held_fields<T>().followed_by(member(Field::args, &T::args));
}

inline constexpr std::size_t kMostCopied = 10'000;  // children of a job that is forked
struct JobFork {
  std::string id;
  std::string from;  // a child: the ones made before it are copied
  std::string new_id;
};
template <std::same_as<JobFork> T>
constexpr auto fields(Of<T>) {
  return Descriptors{
      member(Field::id, &T::id).text().naming(Names::row),
      member(Field::from_step, &T::from).text().naming(Names::row),
      member(Field::new_id, &T::new_id).text().naming(Names::row),
  };
}

}  // namespace resonate

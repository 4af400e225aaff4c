// Orders of jobs: those of requests, and those that schedules keep.
#pragma once

#include <utility>

#include "codec/jobs_decode.hpp"

namespace resonate {
namespace detail {

template <DocumentNode Node>
JobOrder decode_order(const Node& data, const Path& at) {
  const Members<Node, Field::id, Field::queue, Field::type, Field::payload, Field::tags, Field::deadline, Field::priority,
                Field::process_at, Field::process_in, Field::good_until, Field::good_for, Field::timeout, Field::retention,
                Field::max_retries, Field::retry_policy, Field::on_exhausted, Field::lifecycle, Field::unique_key,
                Field::unique_for, Field::group, Field::sent_at>
      members(data, &at);
  JobOrder order;
  order.id = members.template optional_text<Field::id>();
  if (auto queue = members.template optional_text<Field::queue>()) order.queue = *std::move(queue);
  order.type = members.template text<Field::type>();
  order.payload = members.template value<Field::payload>();
  order.tags = members.template string_map<Field::tags>();
  order.deadline = members.template optional_integer<Field::deadline>().value_or(kNever);
  order.priority = members.template optional_integer<Field::priority>();
  order.process_at = members.template optional_integer<Field::process_at>();
  order.process_in = members.template optional_integer<Field::process_in>();
  order.good_until = members.template optional_integer<Field::good_until>();
  order.good_for = members.template optional_integer<Field::good_for>();
  order.timeout = members.template optional_integer<Field::timeout>();
  if (const Node* retention = members.template find<Field::retention>())
    order.retention = read_retention(*retention, members.path(Field::retention));
  order.max_retries = members.template optional_integer<Field::max_retries>();
  if (const Node* policy = members.template find_given<Field::retry_policy>())
    order.policy = read_policy(*policy, members.path(Field::retry_policy));
  order.on_exhausted = members.template optional_text<Field::on_exhausted>();
  order.lifecycle = members.template optional_text<Field::lifecycle>();
  order.unique_key = members.template optional_text<Field::unique_key>();
  order.unique_for = members.template optional_integer<Field::unique_for>();
  order.group = members.template optional_text<Field::group>();
  order.sent_at = members.template optional_integer<Field::sent_at>();
  return order;
}

template <DocumentNode Node>
Shared<const JobTemplate> read_template(const Node& node, const Path& at) {
  Shared<JobTemplate> made(new JobTemplate);
  made->order = decode_order(node, at);
  return made;
}

}  // namespace detail
}  // namespace resonate

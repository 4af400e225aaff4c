// The decisions in the descriptors of requests: what a member names, and which limit of a server it is held to. A request with an
// undecided member does not compile (machine/request_members.hpp); these members would not.
#include <gtest/gtest.h>

#include <stdexcept>

#include "fake_backends.hpp"
#include "fake_jobs.hpp"
#include "machine/plan.hpp"
#include "machine/request_members.hpp"

namespace resonate {

// Two structs of which one has a decision less.
template <bool Decided>
struct WithId {
  std::string id;
};
template <class T>
requires std::is_same_v<T, WithId<true>> || std::is_same_v<T, WithId<false>>
constexpr auto fields(Of<T>) {
  constexpr auto id = member(Field::id, &T::id).text();
  if constexpr (std::is_same_v<T, WithId<true>>) return Descriptors{id.naming(Names::row)};
  if constexpr (std::is_same_v<T, WithId<false>>) return Descriptors{id};
}
template <bool Decided>
struct WithDelay {
  std::optional<Duration> delay;
};
template <class T>
requires std::is_same_v<T, WithDelay<true>> || std::is_same_v<T, WithDelay<false>>
constexpr auto fields(Of<T>) {
  constexpr auto delay = member(Field::delay, &T::delay).duration(0);
  if constexpr (std::is_same_v<T, WithDelay<true>>) return Descriptors{delay.held_to(Limit::delay)};
  if constexpr (std::is_same_v<T, WithDelay<false>>) return Descriptors{delay};
}
template <bool Decided>
struct WithTags {
  StringMap tags;
};
template <class T>
requires std::is_same_v<T, WithTags<true>> || std::is_same_v<T, WithTags<false>>
constexpr auto fields(Of<T>) {
  constexpr auto tags = member(Field::tags, &T::tags);
  if constexpr (std::is_same_v<T, WithTags<true>>) return Descriptors{tags.naming(Names::addresses)};
  if constexpr (std::is_same_v<T, WithTags<false>>) return Descriptors{tags};
}
template <bool Decided>
struct WithList {
  std::vector<JobRef> jobs;
};
template <class T>
requires std::is_same_v<T, WithList<true>> || std::is_same_v<T, WithList<false>>
constexpr auto fields(Of<T>) {
  constexpr auto jobs = member(Field::jobs, &T::jobs);
  if constexpr (std::is_same_v<T, WithList<true>>) return Descriptors{jobs.held_to(Limit::length)};
  if constexpr (std::is_same_v<T, WithList<false>>) return Descriptors{jobs};
}
// Inside another struct.
template <class Part>
struct Around {
  std::vector<Part> items;
};
template <class T>
requires requires(T whole) { whole.items; }
constexpr auto fields(Of<T>) { return Descriptors{member(Field::jobs, &T::items).held_to(Limit::length)}; }

namespace {

using detail::each_is_decided;

TEST(RequestMembers, EachMemberNeedsADecision) {
  EXPECT_TRUE(each_is_decided<WithId<true>>());
  EXPECT_FALSE(each_is_decided<WithId<false>>());
  EXPECT_TRUE(each_is_decided<WithDelay<true>>());
  EXPECT_FALSE(each_is_decided<WithDelay<false>>());
  EXPECT_TRUE(each_is_decided<WithTags<true>>());
  EXPECT_FALSE(each_is_decided<WithTags<false>>());
  EXPECT_TRUE(each_is_decided<WithList<true>>());
  EXPECT_FALSE(each_is_decided<WithList<false>>());
  EXPECT_TRUE(each_is_decided<Around<WithId<true>>>());
  EXPECT_FALSE(each_is_decided<Around<WithId<false>>>());
}

std::vector<std::string> keys(const auto& lookups) {
  std::vector<std::string> all;
  for (const auto& one : lookups) all.emplace_back(one.key);
  return all;
}

TEST(RequestMembers, APlanHasWhatTheyName) {
  JobClaim claim;
  claim.queues = {{"a", {}}, {"b", 2}};
  ScheduleCreate schedule;
  schedule.id = "s";
  schedule.promise_id = "{{.id}}";
  schedule.job = fake::order("not yet", "reports");
  schedule.job->id.reset();
  JobCancel cancel;
  cancel.which.id = "k";
  const std::vector<Operation> operations{
      TaskFence{"t", 1, fake::settlement("p")}, fake::enqueue("j", "a"), claim, JobStats{"stats"}, schedule, cancel};
  Plan plan;
  for (const Operation& operation : operations) plan.add(operation);
  EXPECT_EQ(keys(plan.lookups().rows), (std::vector<std::string>{"t", "p", "j", "k"}));
  EXPECT_EQ(keys(plan.lookups().queues), (std::vector<std::string>{"a", "b", "stats", "reports"}));
  EXPECT_EQ(keys(plan.lookups().schedules), std::vector<std::string>{"s"});
}

// Tests have this check in each request of a store that checks its steps.
TEST(RequestMembers, ALoadOfWhatIsNotPlannedIsAnError) {
  fake::Store store;
  store.create("planned");
  store.create("other");
  const Operation operation = PromiseGet{"planned"};
  store.engine->with_storage([&](Storage& storage) {
    WorkingSet set(storage);
    Plan plan;
    plan.add(operation);
    set.require_planned(plan.lookups());
    EXPECT_NE(set.find("planned"), nullptr);
    EXPECT_THROW(set.find("other"), std::logic_error);
    EXPECT_NE(set.follow("other"), nullptr);
    EXPECT_THROW(set.find("other"), std::logic_error);  // also of a row that is known
    EXPECT_THROW(set.find_queue("default"), std::logic_error);
    EXPECT_THROW(set.find_schedule("planned"), std::logic_error);
    EXPECT_THROW(set.has_edge(EdgeKind::callback, "planned", "other"), std::logic_error);
    set.require_planned({});
    EXPECT_NE(set.find("other"), nullptr);
  });
}

}  // namespace
}  // namespace resonate

// Requests that are refused without a read of the state (PROTOCOL 3, shape rules), as a table.
#include "machine/validate.hpp"

#include <gtest/gtest.h>

#include "fake_store.hpp"

namespace resonate {
namespace {

using namespace fake;

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
const std::string kNul("a\0b", 3);

// Whether the request is accepted in: 2026 compatible, 2026 strict, 2025 compatible, 2025 strict.
struct Case {
  const char* what;
  Operation operation;
  bool fine[4];
};

constexpr bool kYes[4] = {true, true, true, true};
Case refused(const char* what, Operation operation) { return {what, std::move(operation), {false, false, false, false}}; }
Case accepted(const char* what, Operation operation) { return {what, std::move(operation), {kYes[0], kYes[1], kYes[2], kYes[3]}}; }

PromiseCreate tagged(std::initializer_list<std::pair<std::string, std::string>> entries, Instant timeout_at = 100) {
  return creation("a", timeout_at, tags(entries));
}
SearchQuery limited(std::int64_t limit) {
  SearchQuery query;
  query.limit = limit;
  return query;
}
SearchQuery in_state(const std::string& state) {
  SearchQuery query;
  query.filter.state = state;
  return query;
}
ScheduleCreate scheduled(const std::string& cron, const std::string& promise_id = "p", Duration timeout = 1,
                         StringMap its_tags = {}) {
  return {"s", cron, promise_id, timeout, {}, std::move(its_tags), {}};
}
TaskFence fence(std::variant<PromiseCreate, PromiseSettle> action) { return {"w", 1, std::move(action)}; }

const std::pair<std::string, std::string> kHere = {"resonate:target", "x:y"};

std::vector<Case> cases() {
  return {
      accepted("an id of anything", PromiseGet{"a.b:c/d \xf0\x9f\x98\x80"}),
      refused("an empty id", PromiseGet{""}),
      refused("a NUL", PromiseGet{kNul}),
      refused("an empty id", TaskGet{""}),
      refused("an empty id", ScheduleGet{""}),
      refused("an empty id", ScheduleDelete{kNul}),
      refused("an empty id", TaskHalt{""}),
      refused("an empty id", TaskContinue{""}),

      accepted("timeoutAt 0", creation("a", 0)),
      accepted("timeoutAt for ever", creation("a", kNever)),
      refused("a negative timeoutAt", creation("a", -1)),
      refused("timeoutAt at the other end", creation("a", kLeast)),
      refused("an empty target", tagged({{"resonate:target", ""}})),
      refused("a NUL in the target", tagged({{"resonate:target", kNul}})),
      {"an empty invoke", tagged({{"resonate:invoke", ""}}), {true, true, false, false}},
      accepted("an empty invoke beside a target", tagged({{"resonate:invoke", ""}, kHere})),
      {"a timer with a target", tagged({{"resonate:timer", "true"}, kHere}), {true, false, true, true}},
      accepted("a timer with an invoke", tagged({{"resonate:timer", "true"}, {"resonate:invoke", "x"}})),
      accepted("a timer that is none", tagged({{"resonate:timer", "True"}, kHere})),
      accepted("a delay", tagged({{"resonate:delay", "99"}, kHere})),
      accepted("a delay of nothing", tagged({{"resonate:delay", "0"}, kHere})),
      accepted("a delay with zeros", tagged({{"resonate:delay", "007"}, kHere})),
      refused("a delay at the deadline", tagged({{"resonate:delay", "100"}, kHere})),
      refused("a delay without a target", tagged({{"resonate:delay", "5"}})),
      {"a delay with an invoke", tagged({{"resonate:delay", "5"}, {"resonate:invoke", "x"}}), {false, false, true, true}},
      refused("an empty delay", tagged({{"resonate:delay", ""}, kHere})),
      refused("a negative delay", tagged({{"resonate:delay", "-0"}, kHere})),
      refused("a delay with a sign", tagged({{"resonate:delay", "+5"}, kHere})),
      refused("a delay with a space", tagged({{"resonate:delay", " 5"}, kHere})),
      refused("a delay with a point", tagged({{"resonate:delay", "5.0"}, kHere})),
      refused("a delay beyond int64", tagged({{"resonate:delay", "9223372036854775808"}, kHere}, kNever)),

      accepted("a settlement", settlement("a", "rejected_canceled")),
      refused("a client's timeout", settlement("a", "rejected_timedout")),
      refused("a settlement to pending", settlement("a", "pending")),
      refused("a state in capitals", settlement("a", "Resolved")),
      refused("an empty id", settlement("")),

      refused("a self-callback", RegisterCallback{"a", "a"}),
      refused("an empty awaiter", RegisterCallback{"a", ""}),
      refused("an empty awaited", RegisterCallback{"", "a"}),

      accepted("http", RegisterListener{"a", "http://x"}),
      accepted("poll", RegisterListener{"a", "poll://any@g"}),
      {"another scheme", RegisterListener{"a", "x-y+1.z:rest"}, {true, false, true, true}},
      {"a poll without an @", RegisterListener{"a", "poll://g"}, {true, false, true, true}},
      {"http of nothing", RegisterListener{"a", "http://"}, {true, false, true, true}},
      {"http in capitals", RegisterListener{"a", "HTTP://x"}, {true, false, true, true}},
      refused("no scheme", RegisterListener{"a", "rest"}),
      refused("an empty scheme", RegisterListener{"a", ":rest"}),
      refused("a scheme that begins with a digit", RegisterListener{"a", "1x:rest"}),
      refused("nothing after the scheme", RegisterListener{"a", "x:"}),
      refused("an odd scheme", RegisterListener{"a", "a_b:rest"}),
      refused("an empty address", RegisterListener{"a", ""}),

      accepted("limit 1", PromiseSearch{limited(1)}),
      accepted("limit 1000", TaskSearch{limited(1000)}),
      refused("limit 0", PromiseSearch{limited(0)}),
      refused("limit 1001", ScheduleSearch{limited(1001)}),
      accepted("a state of promises", PromiseSearch{in_state("rejected_timedout")}),
      refused("a state of tasks", PromiseSearch{in_state("acquired")}),
      accepted("a state of tasks", TaskSearch{in_state("acquired")}),
      refused("no state of tasks", TaskSearch{in_state("none")}),
      accepted("schedules have no state", ScheduleSearch{in_state("odd")}),

      accepted("a task", TaskCreate{"w", 1, tagged({kHere})}),
      {"a task without a target", TaskCreate{"w", 1, creation("a")}, {false, false, true, true}},
      refused("a ttl of nothing", TaskCreate{"w", 0, tagged({kHere})}),
      refused("an empty pid", TaskCreate{"", 1, tagged({kHere})}),
      refused("a delayed task", TaskCreate{"w", 1, tagged({kHere, {"resonate:delay", "5"}})}),
      accepted("an acquisition", TaskAcquire{"a", 0, "w", kNever}),
      refused("a negative version", TaskAcquire{"a", -1, "w", 1}),
      refused("a negative ttl", TaskAcquire{"a", 0, "w", -1}),
      refused("a NUL in the pid", TaskAcquire{"a", 0, kNul, 1}),
      refused("a negative version", TaskRelease{"a", -1}),

      accepted("a suspension", suspension("w", 1, {"a", "b"})),
      refused("nothing to wait for", suspension("w", 1, {})),
      refused("itself", suspension("w", 1, {"w"})),
      refused("another awaiter", TaskSuspend{"w", 1, {{"a", "v"}}}),
      refused("an empty awaited", suspension("w", 1, {""})),
      {"the same awaited twice", suspension("w", 1, {"a", "b", "a"}), {true, false, true, true}},

      accepted("a fulfilment", TaskFulfill{"w", 1, settlement("w")}),
      refused("of another", TaskFulfill{"w", 1, settlement("v")}),
      refused("by an odd state", TaskFulfill{"w", 1, settlement("w", "odd")}),

      accepted("a fence", fence(creation("a"))),
      refused("on its own promise", fence(settlement("w"))),
      {"of an empty id", fence(creation("")), {false, true, false, false}},
      {"of an odd state", fence(settlement("a", "odd")), {false, true, false, false}},
      {"of a negative timeoutAt", fence(creation("a", -1)), {false, true, false, false}},

      accepted("an empty heartbeat", TaskHeartbeat{"w", {}}),
      refused("a heartbeat without a pid", TaskHeartbeat{"", {}}),
      refused("a heartbeat for an empty id", TaskHeartbeat{"w", {{"", 1}}}),
      refused("a heartbeat for a negative version", TaskHeartbeat{"w", {{"a", -1}}}),

      accepted("a schedule", scheduled("*/5 * * * * *")),
      accepted("a schedule with a zone", scheduled("CRON_TZ=Europe/Berlin 0 9 * * 1-5")),
      refused("an odd cron", scheduled("every day")),
      refused("a cron that never fires", scheduled("0 0 30 2 *")),
      refused("an empty template", scheduled("* * * * *", "")),
      refused("a negative timeout", scheduled("* * * * *", "p", -1)),
      {"a timer with a target",
       scheduled("* * * * *", "p", 1, tags({kHere, {"resonate:timer", "true"}})),
       {true, false, true, true}},
      refused("a delayed schedule", scheduled("* * * * *", "p", 1, tags({kHere, {"resonate:delay", "1"}}))),
  };
}

TEST(Validate, Table) {
  for (const Case& each : cases()) {
    for (std::size_t i = 0; i < 4; ++i) {
      const DialectId dialect = i < 2 ? kNew : kOld;
      const RulesId rules_id = i % 2 == 0 ? RulesId::compatible : RulesId::strict;
      const auto refusal = refuse(Request{dialect, each.operation}, rules_id);
      EXPECT_EQ(!refusal.has_value(), each.fine[i]) << each.what << " (" << i << "): " << refusal.value_or("accepted");
      if (refusal) {
        EXPECT_FALSE(refusal->empty());
      }
    }
  }
}

TEST(Validate, NamesWhatWasWrong) {
  const auto text = [](Operation operation) { return *refuse(Request{kNew, std::move(operation)}, RulesId::compatible); };
  EXPECT_NE(text(creation("a", -7)).find("-7"), std::string::npos);
  EXPECT_NE(text(settlement("a", "odd")).find("odd"), std::string::npos);
  EXPECT_NE(text(PromiseSearch{limited(1001)}).find("1001"), std::string::npos);
  EXPECT_NE(text(RegisterListener{"a", "rest"}).find("rest"), std::string::npos);
  EXPECT_NE(text(tagged({{"resonate:delay", "x"}, kHere})).find("x"), std::string::npos);
}

}  // namespace
}  // namespace resonate

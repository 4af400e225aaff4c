// Traces of jobs: the lines that record groups, batches and schedules of jobs, and replays of random requests on jobs.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "codec/encode_request.hpp"
#include "codec/json_sink.hpp"
#include "fake_job_requests.hpp"
#include "protocol/envelope_handler.hpp"
#include "protocol/trace.hpp"

namespace resonate {
namespace {

using namespace fake;
using nlohmann::json;

class TracedJobs : public JobsOnEveryBackend {
 protected:
  void record(JobStore& store) {
    lines.clear();
    start_trace(*store.engine, [this](std::string_view line) { lines.emplace_back(line); });
  }
  std::string line_of(const std::string& kind) const {
    for (const std::string& line : lines)
      if (json::parse(line)["kind"] == kind) return line;
    return "none";
  }
  void expect_replayed() {
    const ReplayResult result = replay(lines);
    EXPECT_TRUE(result.ok) << result.line.value_or(0) << "\n" << result.expected << "\n" << result.got;
    EXPECT_EQ(result.steps, lines.size());
  }
  std::vector<std::string> lines;
};

TEST_P(TracedJobs, GroupsAndTheirBatches) {
  JobStore store = make();
  store.must(gathers({3, 100, 400}));
  store.add(grouped("a"));
  record(store);
  store.add_at(10, grouped("b"));
  store.must(JobCancel{only("a")});
  store.clock->advance_to(110);
  JobClaim both = claim({"default"}, 1, 50);
  both.start = 1;
  store.must(both);
  store.must(gathers({}));
  EXPECT_EQ(line_of("step.job_batch"),
            R"({"kind":"step.job_batch","now":110,"req":{"id":"b","at":110},"res":{"batch":")" + batch(1) + "\"}}");
  const json joined = json::parse(line_of("job.enqueue"));
  EXPECT_EQ(joined["req"]["data"]["group"], "g");
  EXPECT_EQ(joined["res"]["data"]["job"]["batch"], batch(1));
  EXPECT_EQ(joined["res"]["data"]["job"]["gathering"], true);
  EXPECT_EQ(json::parse(line_of("job.claim"))["req"]["data"]["start"], 1);
  EXPECT_EQ(json::parse(line_of("queue.set"))["req"]["data"]["groups"], json({{"size", 1000}, {"grace", 60'000}}));
  expect_replayed();

  std::string& step =
      lines[static_cast<std::size_t>(std::find(lines.begin(), lines.end(), line_of("step.job_batch")) - lines.begin())];
  step.replace(step.find("batch:"), 7, "batch:f");
  const ReplayResult other = replay(lines);
  EXPECT_FALSE(other.ok);
  EXPECT_EQ(other.expected, step);
}

TEST_P(TracedJobs, SchedulesOfJobs) {
  JobStore store = make();
  ScheduleCreate schedule;
  schedule.id = "s";
  schedule.cron = "* * * * *";
  schedule.promise_id = "{{.id}}.{{.timestamp}}";
  schedule.promise_timeout = 100'000;
  schedule.job = keyed("", "K");
  schedule.job->id.reset();
  store.must(schedule);
  record(store);
  store.clock->advance_to(120'000);
  EXPECT_EQ(lines[1], R"({"kind":"step.schedule","now":60000,"req":{"id":"s","at":60000},"res":)"
                      R"({"promise_id":"s.60000","created":true}})");
  EXPECT_EQ(lines[2], R"({"kind":"step.schedule","now":120000,"req":{"id":"s","at":120000},"res":)"
                      R"({"promise_id":"s.120000","created":false}})");
  schedule.id = "t";
  store.must(schedule);
  EXPECT_EQ(json::parse(lines.back())["req"]["data"]["job"], json({{"queue", "default"}, {"type", "work"}, {"uniqueKey", "K"}}));
  expect_replayed();
}

TEST_P(TracedJobs, RandomRequestsReplayTheSame) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Options options = checked(seed % 2 ? RulesId::strict : RulesId::compatible);
    options.catchup = static_cast<CatchUp>(seed % 3);
    options.unblock_retention = 500;
    JobStore store = make(options);
    RandomJobRequests random(seed + 700);
    Instant now = 0;
    const auto send = [&](int requests) {
      for (int i = 0; i < requests; ++i) {
        now = random.after(now);
        Request request = random.next(store, now);
        // A random request may have no envelope: the older dialect may lack its kind, and no envelope searches schedules by state.
        request.dialect = kNew;
        if (auto* search = std::get_if<ScheduleSearch>(&request.operation)) search->query.filter.state.reset();
        store.engine->apply(std::move(request), now);
        if (random.below(20) == 0) store.clock->advance_to(now += random.below(80));
      }
    };
    send(60);  // the trace begins on a store that is not empty
    record(store);
    send(250);
    store.engine->stop_trace();
    EXPECT_GT(lines.size(), 250u);
    expect_replayed();
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, TracedJobs, ::testing::Values(Backend::memory, Backend::sqlite), fake::name_of);

// Encoding and decoding preserve every member of an order, a claim, the settings of a queue and a filter.
TEST(EncodedJobRequests, ComeBackAsTheyWere) {
  const json job = {{"queue", "q"},
                    {"type", "t"},
                    {"priority", 3},
                    {"processIn", 4},
                    {"goodFor", 5},
                    {"timeout", 6},
                    {"retention", nullptr},
                    {"maxRetries", 7},
                    {"retryPolicy", {{"kind", "asynq"}}},
                    {"onExhausted", "failed"},
                    {"lifecycle", "asynq"},
                    {"uniqueKey", "K"},
                    {"uniqueFor", 9},
                    {"group", "g"}};
  json order = job;
  order["id"] = "i";
  const json filter = {{"queue", "q"}, {"group", "g"}, {"state", "scheduled"}};
  const std::pair<const char*, json> cases[] = {
      {"job.enqueue", order},
      {"job.enqueue_many", {{"jobs", {order, job}}}},
      {"job.claim", {{"queues", {{{"name", "q"}}}}, {"count", 2}, {"worker", "w"}, {"lease", 5}, {"strict", false}, {"start", 3}}},
      {"job.cancel", {{"group", "g"}}},
      {"job.run", filter},
      {"job.archive", filter},
      {"job.delete", filter},
      {"job.search", filter},
      {"queue.set", {{"queue", "q"}, {"groups", {{"size", 3}, {"grace", 0}, {"maxDelay", 1}}}}},
      {"queue.set", {{"queue", "q"}, {"groups", nullptr}}},
      {"schedule.create",
       {{"id", "s"},
        {"cron", "* * * * *"},
        {"promiseId", "x"},
        {"promiseTimeout", 5},
        {"promiseTags", {{"a", "b"}}},
        {"job", job}}},
  };
  for (const auto& [kind, data] : cases) {
    const json request = {{"kind", kind}, {"head", {{"corrId", "c"}, {"version", "2026-04-01"}}}, {"data", data}};
    const std::string text = request.dump();
    const auto encoded = [](const std::string& of) {
      const Decoded decoded = EnvelopeHandler::decode_json(of);
      if (!std::holds_alternative<Envelope>(decoded)) return std::get<Refusal>(decoded).message;
      JsonSink sink;
      encode_request(sink, "c", std::get<Request>(std::get<Envelope>(decoded).operation));
      return std::string(sink.text());
    };
    const std::string once = encoded(text);
    const json read = json::parse(once, nullptr, false);
    ASSERT_TRUE(read.is_object()) << once;
    for (const auto& [key, value] : data.items()) EXPECT_EQ(read["data"].value(key, json("missing")), value) << kind << " " << key;
    EXPECT_EQ(encoded(once), once);
  }
}

}  // namespace
}  // namespace resonate

// Wakes watches after commits of other processes, which notify this one through the database. Polling alone is right; this is fast.
//
// The database passes each notice to each session that listens. A worker that has a backlog needs none, and does not rearm its
// watch. A session whose watches are all unarmed for a second sends UNLISTEN, and LISTEN when one of them is rearmed.
//
// Workers that wait for jobs of a queue are chosen by CommitNotice::turn, or each commit would wake the whole fleet. How many they
// are is known by shared advisory locks: the listener of each holds one on the queue's key until its connection ends.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "resonate/interruption.hpp"
#include "resonate/postgres.hpp"
#include "resonate/steady_time.hpp"
#include "resonate/watch.hpp"
#include "storage/open_connections.hpp"
#include "storage/postgres_connection.hpp"
#include "storage/postgres_notices.hpp"

namespace resonate {

namespace {

constexpr int kBetweenWakes = 10;  // ms: a burst of commits wakes once at its begin, and then once in this time
constexpr int kFirstRetry = 1000;  // ms until a lost connection is opened again; twice as long after each failure, up to
constexpr int kLongestRetry = 60 * 1000;
constexpr Duration kFirstCount = 1000;  // ms until the workers of a queue are counted again; twice as long after each count, up to
constexpr Duration kLongestCount = 60 * 1000;
constexpr Duration kCountOfNotice = 10 * 1000;  // a notice makes a count that is older than this be renewed
constexpr Duration kCountOfEach = 500;          // of a large fleet: the longest time, and that of a notice, for each worker
constexpr Duration kRestsAfter = 1000;          // ms without a watch that waits
constexpr int kLockClass = 1919251310;          // of the advisory locks: "resn"

using Time = std::chrono::steady_clock::time_point;
using Milliseconds = std::chrono::milliseconds;
constexpr Time kNoTime = Time::max();

// A pipe that ends a wait of a thread: for good by request(), or once by poke().
class Stop {
 public:
  Stop() {
    if (::pipe2(ends_.data(), O_CLOEXEC | O_NONBLOCK) != 0) throw std::runtime_error("pipe2 failed");
  }
  ~Stop() {
    for (const int end : ends_) ::close(end);
  }
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;
  void request() noexcept {
    requested = true;
    poke();
  }
  void poke() noexcept { (void)!::write(ends_[1], "!", 1); }
  // Waits until the socket has input (-1: no socket), for at most `most` ms (-1: no limit). Returns whether to continue.
  bool wait(int socket, int most) const noexcept {
    std::array<pollfd, 2> both = {pollfd{ends_[0], POLLIN, 0}, pollfd{socket, POLLIN, 0}};
    (void)::poll(both.data(), both.size(), most);
    std::array<char, 64> read{};
    while (!requested && ::read(ends_[0], read.data(), read.size()) > 0) {
    }
    return !requested;
  }

  std::atomic<bool> requested = false;

 private:
  std::array<int, 2> ends_{};
};

class PostgresListener final : public CommitNotices,
                               public CommitSource,
                               public std::enable_shared_from_this<PostgresListener>,
                               private OpenConnection {
 public:
  explicit PostgresListener(PostgresAddress address) : address_(std::move(address)) {}
  ~PostgresListener() override { disconnect(); }
  PostgresListener(const PostgresListener&) = delete;
  PostgresListener& operator=(const PostgresListener&) = delete;

  void wake(std::shared_ptr<Watch> watch, const std::vector<std::string>& queues) override {
    watch->comes_from(weak_from_this());
    Waiting waiting{.watch = std::move(watch)};
    for (const std::string& queue : queues) waiting.keys.push_back(queue_key(address_.schema, queue));
    {
      std::lock_guard lock(mutex_);
      watches_.push_back(std::move(waiting));
    }
    start();
  }

  void awaited() noexcept override {
    if (resting_) try_start();
  }

 private:
  struct Waiting {
    std::weak_ptr<Watch> watch;
    std::vector<std::uint32_t> keys = {};  // of the queues that it claims from; none: every notice wakes it
    Time at = kNoTime;                     // when it is woken
  };

  void start() {
    std::lock_guard lock(thread_mutex_);
    if (thread_.joinable()) return stop_->poke();
    stop_ = std::make_unique<Stop>();
    thread_ = std::thread([this] { run(); });
  }

  void disconnect() noexcept override {
    std::lock_guard lock(thread_mutex_);
    if (!thread_.joinable()) return;
    stop_->request();
    thread_.join();
    stop_.reset();
  }

  void resume() noexcept override {
    if (has_watches()) try_start();
  }

  void try_start() noexcept {
    try {
      start();
    } catch (const std::exception&) {  // no thread can be started: who polls finds the commits
    }
  }

  void run() noexcept {
    const Uninterrupted uninterrupted;  // the hook belongs to threads of Python
    for (int retry = kFirstRetry; !stop_->requested; retry = std::min(2 * retry, kLongestRetry)) {
      try {
        PostgresConnection connection(address_, &stop_->requested);
        set_listening(connection, true);
        retry = kFirstRetry / 2;
        workers_.clear();
        listen(connection);
      } catch (const std::exception&) {  // who polls finds the commits, and database_counts() shows the connections
      }
      resting_ = false;
      (void)stop_->wait(-1, retry);
    }
  }

  static void set_listening(PostgresConnection& connection, bool listens) {
    connection.send(((listens ? "LISTEN " : "UNLISTEN ") + std::string(kCommitChannel)).c_str());
    (void)connection.run();
  }

  void listen(PostgresConnection& connection) {
    between_counts_ = kFirstCount;
    count_at_ = kNoTime;
    wake_all();  // of commits before it listened
    Time next_wake;
    Time last_awaited = steady_time();
    do {
      Time now = steady_time();
      if (now < next_wake) {
        (void)stop_->wait(-1, static_cast<int>(std::chrono::ceil<Milliseconds>(next_wake - now).count()));
        now = steady_time();
      }
      if (is_awaited()) {
        last_awaited = now;
        if (resting_) end_rest(connection);
      } else if (!resting_ && now - last_awaited >= Milliseconds(kRestsAfter)) {
        rest(connection);
      }
      if (!resting_) see_fleet(connection, now);
      for (const std::string& payload : connection.take_notices())
        if (const auto notice = CommitNotice::parse(payload, address_.schema)) plan(*notice, connection.backend(), now);
      if (notify_watches(now)) next_wake = now + Milliseconds(kBetweenWakes);
    } while (stop_->wait(connection.socket(), until_next()));
  }

  bool is_awaited() {
    std::lock_guard lock(mutex_);
    return std::ranges::any_of(watches_, [](const Waiting& one) {
      const std::shared_ptr<Watch> watch = one.watch.lock();
      return watch && watch->armed();
    });
  }

  void rest(PostgresConnection& connection) {
    resting_ = true;
    if (is_awaited()) {  // since a moment ago; a later rearm() calls awaited()
      resting_ = false;
    } else {
      set_listening(connection, false);
    }
  }

  void end_rest(PostgresConnection& connection) {
    set_listening(connection, true);
    resting_ = false;
    wake_all();  // of commits before it listened
  }

  // Without a lock or a count, more workers are woken than necessary: that is no reason to listen no more.
  void see_fleet(PostgresConnection& connection, Time now) {
    try {
      if (register_queues(connection) || now >= count_at_) count_workers(connection, now);
    } catch (const PostgresError&) {
      if (connection.lost()) throw;
      count_at_ = now + Milliseconds(kLongestCount);
    }
  }

  // Takes the locks of the queues that are new. Returns whether there are any.
  bool register_queues(PostgresConnection& connection) {
    std::vector<std::uint32_t> added;
    {
      std::lock_guard lock(mutex_);
      for (const Waiting& one : watches_)
        for (const std::uint32_t key : one.keys)
          if (workers_.emplace(key, 1).second) added.push_back(key);
    }
    if (added.empty()) return false;
    for (const std::uint32_t key : added) {
      const std::string lock =
          "SELECT pg_try_advisory_lock_shared(" + std::to_string(kLockClass) + ", " + std::to_string(key) + ")";
      connection.send(lock.c_str());
    }
    (void)connection.run();
    return true;
  }

  void count_workers(PostgresConnection& connection, Time now) {
    const std::string count =
        "SELECT objid::bigint, count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND classid = " +
        std::to_string(kLockClass) +
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) GROUP BY objid";
    const PostgresResult result = connection.run(count.c_str());
    std::size_t most = 0;
    for (int at = 0; at < result.rows(); ++at) {
      const auto known = workers_.find(static_cast<std::uint32_t>(result.row(at).integer(0)));
      if (known == workers_.end()) continue;
      known->second = static_cast<std::size_t>(std::max<std::int64_t>(1, result.row(at).integer(1)));
      most = std::max(most, known->second);
    }
    connection_counts.listening_workers = static_cast<std::int64_t>(most);
    counted_at_ = now;
    of_fleet_ = static_cast<Duration>(most) * kCountOfEach;
    // Not all at the same time: their connections have different numbers.
    count_at_ = now + Milliseconds(between_counts_ + connection.backend() % 64 * between_counts_ / 64);
    between_counts_ = std::min(2 * between_counts_, std::max(kLongestCount, of_fleet_));
  }

  // Notes when the notice wakes each watch.
  void plan(const CommitNotice& notice, int backend, Time now) {
    std::lock_guard lock(mutex_);
    for (Waiting& one : watches_) {
      if (notice.everybody || one.keys.empty()) {
        one.at = now;
        continue;
      }
      for (const CommitNotice::Jobs& jobs : notice.jobs) {
        if (std::ranges::find(one.keys, jobs.key) == one.keys.end()) continue;
        const auto known = workers_.find(jobs.key);
        const std::size_t workers = known == workers_.end() ? 1 : known->second;
        const Duration turn = CommitNotice::turn(notice.seed, backend, workers, jobs.count, lock_waits.between(now));
        one.at = std::min(one.at, now + Milliseconds(turn));
      }
    }
    if (count_at_ != kNoTime && now - counted_at_ > Milliseconds(std::max(kCountOfNotice, of_fleet_)))
      count_at_ = std::min(count_at_, now + Milliseconds(backend % 64 * 16));
  }

  // How long to wait for a notice, in ms; -1: without a limit.
  int until_next() {
    std::lock_guard lock(mutex_);
    Time next = resting_ ? kNoTime : count_at_;
    for (const Waiting& one : watches_) next = std::min(next, one.at);
    if (next == kNoTime) return -1;
    const auto left = std::chrono::ceil<Milliseconds>(next - steady_time()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, kLongestRetry));
  }

  bool has_watches() {
    std::lock_guard lock(mutex_);
    return !watches_.empty();
  }

  void wake_all() {
    std::lock_guard lock(mutex_);
    for (Waiting& one : watches_) one.at = Time();
  }

  // Wakes the watches whose turn it is. Returns whether there are any.
  bool notify_watches(Time now) noexcept {
    std::lock_guard lock(mutex_);
    std::erase_if(watches_, [](const Waiting& one) { return one.watch.expired(); });
    bool any = false;
    for (Waiting& one : watches_) {
      if (one.at > now) continue;
      one.at = kNoTime;
      any = true;
      if (const std::shared_ptr<Watch> watch = one.watch.lock()) watch->notify();
    }
    return any;
  }

  PostgresAddress address_;
  std::mutex mutex_;  // of the watches
  std::vector<Waiting> watches_;
  // Of the thread: how many listen for the jobs of each queue, as last counted, by key.
  std::map<std::uint32_t, std::size_t> workers_;
  Time counted_at_;
  Time count_at_ = kNoTime;
  Duration between_counts_ = kFirstCount;
  Duration of_fleet_ = 0;              // kCountOfEach for each worker
  std::atomic<bool> resting_ = false;  // it does not listen
  std::mutex thread_mutex_;            // of the thread and its stop
  std::unique_ptr<Stop> stop_;
  std::thread thread_;
};

}  // namespace

std::shared_ptr<CommitNotices> listen_to_commits(const std::string& url) {
  const PostgresAddress address = PostgresAddress::parse(url);
  if (!address.listens) return nullptr;
  return std::make_shared<PostgresListener>(address.of_listener());
}

}  // namespace resonate

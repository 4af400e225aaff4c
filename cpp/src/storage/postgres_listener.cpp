// Wakes watches after commits of other processes, which notify this one through the database. Polling alone is right; this is fast.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "resonate/interruption.hpp"
#include "resonate/postgres.hpp"
#include "resonate/watch.hpp"
#include "storage/open_connections.hpp"
#include "storage/postgres_connection.hpp"

namespace resonate {

namespace {

constexpr int kBetweenWakes = 10;  // ms: a burst of commits wakes once at its begin, and then once in this time
constexpr int kFirstRetry = 1000;  // ms until a lost connection is opened again; twice as long after each failure, up to
constexpr int kLongestRetry = 60 * 1000;

// A pipe that ends the waits of a thread.
class Stop {
 public:
  Stop() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
  }
  ~Stop() {
    for (const int end : ends_) ::close(end);
  }
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;
  void request() noexcept {
    requested = true;
    (void)!::write(ends_[1], "!", 1);
  }
  // Waits until the socket has input (-1: no socket), for at most `most` ms (-1: no limit). Returns whether to continue.
  bool wait(int socket, int most) const noexcept {
    std::array<pollfd, 2> both = {pollfd{ends_[0], POLLIN, 0}, pollfd{socket, POLLIN, 0}};
    (void)::poll(both.data(), both.size(), most);
    return !requested;
  }

  std::atomic<bool> requested = false;

 private:
  std::array<int, 2> ends_{};
};

class PostgresListener final : public CommitNotices, private OpenConnection {
 public:
  explicit PostgresListener(PostgresAddress address) : address_(std::move(address)) {}
  ~PostgresListener() override { disconnect(); }
  PostgresListener(const PostgresListener&) = delete;
  PostgresListener& operator=(const PostgresListener&) = delete;

  void wake(std::shared_ptr<Watch> watch) override {
    {
      std::lock_guard lock(mutex_);
      watches_.push_back(std::move(watch));
    }
    start();
  }

 private:
  void start() {
    std::lock_guard lock(thread_mutex_);
    if (thread_.joinable()) return;
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
    try {
      if (has_watches()) start();
    } catch (const std::exception&) {  // no thread can be started: who polls finds the commits
    }
  }

  void run() noexcept {
    const Uninterrupted uninterrupted;  // the hook belongs to threads of Python
    for (int retry = kFirstRetry; !stop_->requested; retry = std::min(2 * retry, kLongestRetry)) {
      try {
        PostgresConnection connection(address_, &stop_->requested);
        connection.send(("LISTEN " + std::string(kCommitChannel)).c_str());
        (void)connection.run();
        retry = kFirstRetry / 2;
        notify_watches();  // of commits before it listened
        listen(connection);
      } catch (const std::exception&) {  // who polls finds the commits, and database_counts() shows the connections
      }
      (void)stop_->wait(-1, retry);
    }
  }

  void listen(PostgresConnection& connection) {
    while (stop_->wait(connection.socket(), -1)) {
      if (!connection.take_notices(address_.schema)) continue;
      notify_watches();
      (void)stop_->wait(-1, kBetweenWakes);
    }
  }

  bool has_watches() {
    std::lock_guard lock(mutex_);
    return !watches_.empty();
  }

  void notify_watches() noexcept {
    std::lock_guard lock(mutex_);
    std::erase_if(watches_, [](const std::weak_ptr<Watch>& one) { return one.expired(); });
    for (const std::weak_ptr<Watch>& one : watches_)
      if (const std::shared_ptr<Watch> watch = one.lock()) watch->notify();
  }

  PostgresAddress address_;
  std::mutex mutex_;  // of the watches
  std::vector<std::weak_ptr<Watch>> watches_;
  std::mutex thread_mutex_;  // of the thread and its stop
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

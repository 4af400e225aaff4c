// A relay before a TCP server that delays each direction, as a network does.
//
//     relay DESCRIPTOR HOST PORT MICROSECONDS
//
// DESCRIPTOR is an inherited socket that listens; HOST is an IPv4 address. Bytes, and the end of a connection, reach the other side
// after the delay. It runs until it is killed. One thread with epoll and a timer, so that the relay takes little of the processors
// that it shares with what is measured.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>

namespace {

using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC, which the timer reads too

// One end of a relayed connection. Its descriptor stays open, and so its number is no other's, while anything holds the side.
struct Side {
  int descriptor;
  std::weak_ptr<Side> other;
  std::string unsent;   // what the socket did not take yet
  bool ended = false;   // its program has closed its end
  bool ending = false;  // it closes once nothing is unsent

  explicit Side(int socket) : descriptor(socket) {}
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;
  ~Side() { ::close(descriptor); }
};

// Bytes on their way to a side; none are the end of the connection.
struct Delivery {
  Clock::time_point due;
  std::shared_ptr<Side> to;
  std::string bytes;
};

int checked(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

class Relay {
 public:
  Relay(int listening, sockaddr_in target, std::chrono::microseconds delay)
      : listening_(listening),
        target_(target),
        delay_(delay),
        epoll_(checked(::epoll_create1(0), "epoll_create1")),
        timer_(checked(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), "timerfd_create")) {
    watch(listening_, EPOLLIN, EPOLL_CTL_ADD);
    watch(timer_, EPOLLIN, EPOLL_CTL_ADD);
  }

  [[noreturn]] void run() {
    std::array<epoll_event, 256> events{};
    for (;;) {
      const int found = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
      if (found < 0 && errno == EINTR) continue;
      checked(found, "epoll_wait");
      for (int index = 0; index < found; ++index) handle(events.at(static_cast<std::size_t>(index)));
      deliver();
    }
  }

 private:
  void watch(int descriptor, std::uint32_t events, int operation) {
    epoll_event event{};
    event.events = events;
    event.data.fd = descriptor;
    checked(::epoll_ctl(epoll_, operation, descriptor, &event), "epoll_ctl");
  }

  void handle(const epoll_event& event) {
    const int descriptor = event.data.fd;
    if (descriptor == listening_) {
      accept();
    } else if (descriptor == timer_) {
      std::uint64_t expirations = 0;
      [[maybe_unused]] const auto size = ::read(timer_, &expirations, sizeof expirations);
    } else if (const auto found = sides_.find(descriptor); found != sides_.end()) {
      const std::shared_ptr<Side> side = found->second;
      if ((event.events & EPOLLOUT) != 0) send(*side, {});
      if ((event.events & ~std::uint32_t{EPOLLOUT}) != 0) receive(*side);
    }
  }

  void accept() {
    const int client = ::accept(listening_, nullptr, nullptr);
    if (client < 0) return;  // it is gone already
    const auto near = std::make_shared<Side>(client);
    // On the loopback, where a server has room in its backlog, this does not wait.
    const auto far = std::make_shared<Side>(checked(::socket(AF_INET, SOCK_STREAM, 0), "socket"));
    if (::connect(far->descriptor, reinterpret_cast<const sockaddr*>(&target_), sizeof target_) != 0) return;
    near->other = far;
    far->other = near;
    for (const auto& side : {near, far}) {
      const int on = 1;
      checked(::setsockopt(side->descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "TCP_NODELAY");
      sides_.emplace(side->descriptor, side);
      watch(side->descriptor, EPOLLIN, EPOLL_CTL_ADD);
    }
  }

  void receive(Side& side) {
    const auto size = ::recv(side.descriptor, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size <= 0) {
      side.ended = true;
      watch(side.descriptor, 0, EPOLL_CTL_DEL);
    }
    const std::size_t count = size > 0 ? static_cast<std::size_t>(size) : 0;
    on_their_way_.push_back({Clock::now() + delay_, side.other.lock(), std::string(buffer_.data(), count)});
  }

  // Hands on what is due, and sets the timer for what comes next.
  void deliver() {
    while (!on_their_way_.empty() && on_their_way_.front().due <= Clock::now()) {
      const Delivery delivery = std::move(on_their_way_.front());
      on_their_way_.pop_front();
      if (delivery.to == nullptr) continue;
      delivery.to->ending = delivery.bytes.empty();
      send(*delivery.to, delivery.bytes);
    }
    if (!on_their_way_.empty() && on_their_way_.front().due != armed_) arm(on_their_way_.front().due);
  }

  // Sends what the socket takes; epoll says when it takes the rest.
  void send(Side& side, const std::string& bytes) {
    if (side.ended && !side.ending) return;  // nobody reads
    const bool waits = !side.unsent.empty();
    side.unsent += bytes;
    const auto sent = ::send(side.descriptor, side.unsent.data(), side.unsent.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) side.unsent.erase(0, static_cast<std::size_t>(sent));
    const bool gone = sent < 0 && errno != EAGAIN && errno != EINTR;
    if (gone || (side.ending && side.unsent.empty())) {
      drop(side);
    } else if (waits != !side.unsent.empty()) {
      watch(side.descriptor, EPOLLIN | (waits ? 0U : std::uint32_t{EPOLLOUT}), EPOLL_CTL_MOD);
    }
  }

  // Closes the connection.
  void drop(Side& side) {
    if (const auto other = side.other.lock()) sides_.erase(other->descriptor);
    sides_.erase(side.descriptor);
  }

  void arm(Clock::time_point due) {
    armed_ = due;
    const auto since = due.time_since_epoch();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
    itimerspec at{};
    at.it_value.tv_sec = seconds.count();
    at.it_value.tv_nsec = std::chrono::duration_cast<std::chrono::nanoseconds>(since - seconds).count();
    checked(::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &at, nullptr), "timerfd_settime");
  }

  int listening_;
  sockaddr_in target_;
  std::chrono::microseconds delay_;
  int epoll_;
  int timer_;
  std::unordered_map<int, std::shared_ptr<Side>> sides_;  // by descriptor
  std::deque<Delivery> on_their_way_;                     // by the instant: the delay is the same for all
  Clock::time_point armed_;
  std::array<char, 65536> buffer_{};
};

}  // namespace

int main(int count, char** words) {
  sockaddr_in target{};
  target.sin_family = AF_INET;
  if (count != 5 || ::inet_pton(AF_INET, words[2], &target.sin_addr) != 1) {
    std::fputs("usage: relay DESCRIPTOR HOST PORT MICROSECONDS\n", stderr);
    return 2;
  }
  try {
    target.sin_port = htons(static_cast<std::uint16_t>(std::stoi(words[3])));
    Relay(std::stoi(words[1]), target, std::chrono::microseconds(std::stoi(words[4]))).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "relay: %s\n", error.what());
    return 1;
  }
}

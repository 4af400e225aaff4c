// The only file that reads the system's clocks.
#include "resonate/clock.hpp"

#include <algorithm>
#include <chrono>

#include "resonate/engine.hpp"
#include "resonate/errors.hpp"
#include "resonate/interruption.hpp"
#include "resonate/steady_time.hpp"

namespace resonate {

namespace {

template <class Length>
std::int64_t milliseconds(Length length) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(length).count();
}

}  // namespace

Instant RunningClock::now() {
  const Instant read = wall();
  std::lock_guard lock(mutex_);
  return last_ = std::max(last_, read);
}

void RunningClock::start_over() noexcept {
  std::lock_guard lock(mutex_);
  last_ = 0;
}

Instant SystemClock::wall() { return milliseconds(std::chrono::system_clock::now().time_since_epoch()); }

// Until the database has been asked, it shows the system's time.
DatabaseClock::DatabaseClock() { learn(SystemClock().wall()); }

Instant DatabaseClock::wall() {
  std::lock_guard lock(mutex_);
  return saturating_add(learned_, milliseconds(std::chrono::steady_clock::now() - learned_when_));
}

void DatabaseClock::learn(Instant at) noexcept {
  std::lock_guard lock(mutex_);
  learned_ = at;
  learned_when_ = std::chrono::steady_clock::now();
}

void DatabaseClock::learn_later(Instant at) noexcept {
  if (at > wall()) learn(at);
}

bool ManualClock::set(Instant at) {
  std::lock_guard lock(mutex_);
  if (at < now_.load(std::memory_order_relaxed)) return false;
  now_.store(at, std::memory_order_release);
  return true;
}

void ManualClock::attach(const std::shared_ptr<Engine>& engine) {
  std::lock_guard lock(mutex_);
  std::erase_if(engines_, [](const std::weak_ptr<Engine>& held) { return held.expired(); });
  engines_.push_back(engine);
}

std::vector<std::shared_ptr<Engine>> ManualClock::engines() {
  std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Engine>> alive;
  for (const auto& held : engines_)
    if (auto engine = held.lock()) alive.push_back(std::move(engine));
  return alive;
}

namespace {

std::optional<Instant> earliest(const std::vector<std::shared_ptr<Engine>>& engines) {
  std::optional<Instant> next;
  for (const auto& engine : engines)
    if (const auto due = engine->next_due()) next = next ? std::min(*next, *due) : *due;
  return next;
}

// A clock that machines share may have been moved by another one.
void catch_up(const std::vector<std::shared_ptr<Engine>>& engines) {
  for (const auto& engine : engines) (void)engine->now();
}

// Ticks at the clock's instant, which can be later than the visited one if a request has moved the clock.
void tick(Engine& engine, std::vector<Fired>& fired) {
  auto more = engine.tick();
  fired.insert(fired.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

void tick_due(const std::vector<std::shared_ptr<Engine>>& engines, Instant at, std::vector<Fired>& fired) {
  for (const auto& engine : engines) {
    const auto due = engine->next_due();
    if (due && *due <= at) tick(*engine, fired);
  }
}

}  // namespace

std::vector<Fired> ManualClock::advance_to(Instant at) {
  std::lock_guard moving(moving_);
  catch_up(engines());
  if (at < now())
    throw Error(ErrorCode::invalid,
                "at must be at least " + std::to_string(now()) + ", got " + std::to_string(at) + ": a clock never goes back");
  return visit_until(at);
}

std::vector<Fired> ManualClock::visit_until(Instant at) {
  const auto driven = engines();
  std::vector<Fired> fired;
  for (auto next = earliest(driven); next && *next <= at; next = earliest(driven)) {
    allow_interrupt(Pause::working);
    const Instant visit = std::max(*next, now());
    set(visit);
    tick_due(driven, visit, fired);
  }
  set(at);
  for (const auto& engine : driven) tick(*engine, fired);  // every store must see the instant, even if nothing is due
  return fired;
}

std::vector<Fired> ManualClock::advance(Duration by) {
  if (by < 0) throw Error(ErrorCode::invalid, "by must be at least 0 ms, got " + std::to_string(by) + ": a clock never goes back");
  std::lock_guard moving(moving_);  // before reading now(), so that concurrent advances add up
  catch_up(engines());
  return visit_until(saturating_add(now(), by));
}

std::vector<Fired> ManualClock::advance_to_next() {
  std::lock_guard moving(moving_);
  const auto driven = engines();
  const auto next = earliest(driven);
  std::vector<Fired> fired;
  if (!next) return fired;
  const Instant visit = std::max(*next, now());
  set(visit);
  tick_due(driven, visit, fired);
  return fired;
}

std::chrono::steady_clock::time_point steady_time() noexcept { return std::chrono::steady_clock::now(); }

}  // namespace resonate

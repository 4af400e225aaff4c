// The only file that reads the system's clock.
#include "resonate/clock.hpp"

#include <algorithm>
#include <chrono>

#include "resonate/engine.hpp"
#include "resonate/errors.hpp"
#include "resonate/interruption.hpp"

namespace resonate {

Instant SystemClock::wall() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count();
}

Instant SystemClock::now() {
  const Instant read = wall();
  std::lock_guard lock(mutex_);
  return last_ = std::max(last_, read);
}

void SystemClock::start_over() noexcept {
  std::lock_guard lock(mutex_);
  last_ = 0;
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

}  // namespace resonate

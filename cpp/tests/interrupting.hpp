// An interrupt hook for as long as it lives.
#pragma once

#include <atomic>
#include <functional>
#include <utility>

#include "resonate/interruption.hpp"

namespace resonate {

struct Stop {};

// Of one test at a time; the calls of several threads are numbered in no order.
class Interrupting {
 public:
  // `body` is given the number of the call, from 1.
  explicit Interrupting(std::function<void(int)> body) {
    the_body() = std::move(body);
    the_calls() = 0;
    set_interrupt_hook([](Pause) { the_body()(++the_calls()); });
  }
  ~Interrupting() { set_interrupt_hook(nullptr); }
  Interrupting(const Interrupting&) = delete;
  Interrupting& operator=(const Interrupting&) = delete;

 private:
  static std::function<void(int)>& the_body() {
    static std::function<void(int)> body;
    return body;
  }
  static std::atomic<int>& the_calls() {
    static std::atomic<int> calls{0};
    return calls;
  }
};

}  // namespace resonate

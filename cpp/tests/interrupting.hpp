// Sets an interrupt hook for the lifetime of an object.
#pragma once

#include <atomic>
#include <functional>
#include <utility>

#include "resonate/interruption.hpp"

namespace resonate {

struct Stop {};

// At most one test at a time uses it. The numbers of calls from several threads have no fixed order.
class Interrupting {
 public:
  // `body` gets the number of the call, from 1.
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

#include "fork_safety.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "bind.hpp"
#include "gil.hpp"
#include "resonate/postgres.hpp"
#include "resonate/storage.hpp"

namespace resonate::python {

namespace {

// A fork waits until `inside` falls to its own share; threads that want to enter wait until `forks` is 0.
std::atomic<int> inside{0};  // threads, not nested scopes
std::atomic<int> forks{0};   // two threads can fork at once
thread_local int depth = 0;

void enter() {
  if (depth++ > 0) return;  // nested: waiting for a fork that waits for this thread would never end
  for (;;) {
    inside.fetch_add(1);
    if (forks.load() == 0) return;
    inside.fetch_sub(1);
    inside.notify_all();
    for (int under_way = forks.load(); under_way > 0; under_way = forks.load()) forks.wait(under_way);
  }
}

void leave() {
  if (--depth > 0) return;
  inside.fetch_sub(1);
  if (forks.load() > 0) inside.notify_all();
}

// At most a second for the whole shutdown.
template <class Busy>
void wait_while(const Busy& busy) {
  static int left = 1000;
  for (; left > 0 && busy(); --left) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// Runs as the last part of Python's shutdown, before static objects are destroyed: daemon threads may still be in a call that uses
// static objects of libraries. Their calls end by themselves, because the interrupt hook ends long calls and a thread that wants
// the GIL sleeps. A thread that waits for a lock of a sleeping thread never ends, which does no harm.
void wait_for_calls() {
  wait_while([] { return inside.load() > 0; });
}

// Runs when the shutdown clears this module, if the interpreter is freed afterwards: a thread that waits for the GIL reads the
// freed memory at its next look, 5 ms later at most (CPython's issue 96387). From the beginning of the shutdown on, such a look
// ends the thread; so all of them look once more before the interpreter goes.
void wait_before_the_interpreter_goes(void*) {
  const auto busy = [] { return inside.load() > 0 || threads_that_wait_for_the_gil() > 0; };
  if (!interpreter_is_ending() || !busy()) return;
  wait_while(busy);
  std::this_thread::sleep_for(std::chrono::milliseconds(10));  // threads of Python code wait as well, and nothing counts them
}

int own_share() { return depth > 0 ? 1 : 0; }

// Releases the GIL while it waits: a thread inside the core may need it (a recording to a Python file).
void before_fork() {
  forks.fetch_add(1);
  PyThreadState* const thread = give_gil_away();
  for (int others = inside.load(); others > own_share(); others = inside.load()) inside.wait(others);
  close_connections_for_fork();
  take_gil_again(thread);
}

void after_in_parent() {
  resume_connections_after_fork();
  forks.fetch_sub(1);
  forks.notify_all();
}

void after_in_child() {
  inside.store(own_share());  // at the instant of the fork the count may include a thread that had not entered
  forks.store(0);
}

}  // namespace

bool fork_is_under_way() noexcept { return forks.load() > 0; }

void leave_for_good() noexcept {
  if (depth == 0) return;
  depth = 0;
  inside.fetch_sub(1);
}

OutsidePython::OutsidePython() : thread_(give_gil_away()) { enter(); }

OutsidePython::~OutsidePython() {
  leave();
  take_gil_again(thread_);
}

// Python's hooks, not pthread_atfork: its handlers run inside locks of the interpreter, where the GIL cannot be released.
void bind_fork_safety(py::module_& module) {
  if constexpr (kInterpreterIsFreed) {
    static const char kNothing = 0;  // a capsule needs an address
    module.attr("_at_shutdown") = py::capsule(&kNothing, &wait_before_the_interpreter_goes);
  }
  if (Py_AtExit(&wait_for_calls) != 0) std::atexit(&wait_for_calls);  // Python has room for 32 of them
  const auto os = imported("os");
  if (!py::hasattr(os, "register_at_fork")) return;
  call_with(
      os.attr("register_at_fork"), py::tuple(),
      py::dict(py::arg("before") = py::cpp_function(&before_fork), py::arg("after_in_parent") = py::cpp_function(&after_in_parent),
               py::arg("after_in_child") = py::cpp_function(&after_in_child)));
}

}  // namespace resonate::python

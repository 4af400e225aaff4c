// The object behind resonate_core.Store: the open store and its cached Python objects.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "open_store.hpp"

namespace resonate::python {

struct StoreHandle {
  std::shared_ptr<OpenStore> open;
  py::object clock;
  py::object promises;
  py::object tasks;
  py::object schedules;
  py::object jobs;
  py::object queues;
  py::object views;
  // Python objects that live as long as the store, by name. They may refer to it: the garbage collector sees the circle.
  py::object attached;

  // Call it with the GIL.
  StoreHandle(const std::shared_ptr<Engine>& engine, py::object clock_object);
};

inline const OpenStore& open(const StoreHandle& store) { return *store.open; }

// The parts of Store's class that are bound in files of their own.
using StoreClass = py::class_<StoreHandle>;
void bind_envelopes(StoreClass& bound);    // apply, apply_json
void bind_outbox(StoreClass& bound);       // messages, take_messages
void bind_file(StoreClass& bound);         // backup, purge, vacuum
void bind_run(StoreClass& bound);          // run
void bind_store_watch(StoreClass& bound);  // watch
void bind_waiting(StoreClass& bound);      // aio, workflows, wait, result
void bind_state(StoreClass& bound);        // check, counts, snapshot, restore, digest

}  // namespace resonate::python

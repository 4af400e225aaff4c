// The object behind resonate_core.Store: the open store, and the Python objects that it hands out again and again.
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

  // With the GIL.
  StoreHandle(const std::shared_ptr<Engine>& engine, py::object clock_object);
};

}  // namespace resonate::python

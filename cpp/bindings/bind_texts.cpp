// Glob, Needles: searches in texts that others wrote. Their time is linear in the text, and does not depend on the patterns.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <string_view>
#include <vector>

#include "bind.hpp"
#include "gil.hpp"
#include "machine/glob.hpp"
#include "needles.hpp"

namespace resonate::python {

namespace {

// Shorter texts are searched before another thread could take the GIL.
constexpr std::size_t kLong = 4096;

std::string_view view_of(const py::bytes& text) { return std::string_view(text); }

std::unique_ptr<Needles> needles_of(const std::vector<py::bytes>& needles) {
  std::vector<std::string_view> views;
  views.reserve(needles.size());
  for (const py::bytes& needle : needles) views.push_back(view_of(needle));
  return std::make_unique<Needles>(views);
}

py::bytes replaced(const Needles& needles, const py::bytes& text, const py::bytes& with, bool cut) {
  const std::string_view whole = view_of(text);
  const std::string_view other = view_of(with);
  if (whole.size() < kLong) return py::bytes(needles.replaced(whole, other, cut));
  PyThreadState* const thread = give_gil_away();
  const std::string made = needles.replaced(whole, other, cut);
  take_gil_again(thread);
  return py::bytes(made);
}

}  // namespace

void bind_texts(py::module_& module) {
  py::class_<Glob>(module, "Glob", py::is_final())
      .def(py::init([](const py::bytes& pattern) { return std::make_unique<Glob>(view_of(pattern)); }), py::arg("pattern"))
      .def(
          "matches", [](const Glob& glob, const py::bytes& text) { return glob.matches(view_of(text)); }, py::arg("text"));
  py::class_<Needles>(module, "Needles", py::is_final())
      .def(py::init(&needles_of), py::arg("needles"))
      .def("replaced", &replaced, py::arg("text"), py::arg("to"), py::arg("cut") = false);
}

}  // namespace resonate::python

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
  py::class_<Glob>(module, "Glob", py::is_final(), R"doc(
A pattern in which `*` stands for any run of bytes, as in the searches of ids. A match takes time linear in the text.

Example:
    >>> from resonate_core._core import Glob
    >>> Glob(b"a*c").matches(b"abc"), Glob(b"a*c").matches(b"ab")
    (True, False)
)doc")
      .def(py::init([](const py::bytes& pattern) { return std::make_unique<Glob>(view_of(pattern)); }), py::arg("pattern"))
      .def(
          "matches", [](const Glob& glob, const py::bytes& text) { return glob.matches(view_of(text)); }, py::arg("text"),
          "Return whether the whole text matches.");
  py::class_<Needles>(module, "Needles", py::is_final(), R"doc(
Texts, all occurrences of which are found in another text in one pass.

Args:
    needles: The texts. Of a long one, only the beginning is compared, and the rest of the text counts as its occurrence.

Example:
    >>> from resonate_core._core import Needles
    >>> Needles([b"abc", b"bcd"]).replaced(b"xabcdx abx", b"-")
    b'x-x abx'
)doc")
      .def(py::init(&needles_of), py::arg("needles"))
      .def("replaced", &replaced, py::arg("text"), py::arg("to"), py::arg("cut") = false, R"doc(
Return a text with each stretch of occurrences, which may overlap, replaced.

Args:
    text: The text.
    to: The text in their place.
    cut: Whether the text is the beginning of a longer one: the beginning of a needle at its end, of 4 bytes or more, is replaced, too.
)doc");
}

}  // namespace resonate::python

// What is done to a store's rows as a whole, over the years: backup, purge, vacuum, the check of a file.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "arguments.hpp"
#include "bind.hpp"
#include "fork_safety.hpp"
#include "gil.hpp"
#include "resonate/sqlite.hpp"
#include "store_handle.hpp"

namespace resonate::python {

namespace {

using TargetArgument = Shown<"str | os.PathLike[str]">;

std::string path_of(py::handle path) { return std::string(text(call(member_of_module("os", "fsdecode"), path), "path")); }

// An instant at which nothing else happened may not be in the file yet.
void store_instant(Engine& engine) {
  try {
    engine.with_storage([](Storage& storage) { storage.store_instant(storage.counters().now); }, Access::write);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::read_only) throw;  // a store that only looks has seen nothing of its own
  }
}

void backup(const StoreHandle& store, const TargetArgument& given) {
  const std::string path = path_of(given);
  open(store).without_gil([&path](Engine& engine) {
    if (const std::string source = engine.location(); !source.empty()) {
      store_instant(engine);
      return backup_sqlite_file(source, path);
    }
    engine.with_snapshot([&path](Storage& storage) { write_sqlite_file(storage, path); });
  });
}

std::size_t purge(const StoreHandle& store, const Int& given) {
  const Instant settled_before = integer(given, "settled_before");
  return open(store).without_gil([=](Engine& engine) { return engine.purge(settled_before); });
}

}  // namespace

void bind_file(StoreClass& bound) {
  bound
      .def("backup", &backup, py::arg("path"), R"doc(
Writes the whole state, as of one instant, into a new SQLite file that `Store(path)` opens. Others read and write meanwhile.

Args:
    path: Where no file is yet. It appears once it is complete and on the disk.

Raises:
    StoreError: There is a file already, or it cannot be written; nothing is left behind.

Example:
    >>> import tempfile, pathlib
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("a", timeout=1000)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store.backup(pathlib.Path(folder) / "copy.db")
    ...     with rc.Store(pathlib.Path(folder) / "copy.db", clock=rc.ManualClock()) as copy:
    ...         copy.promises.get("a").state
    'pending'
)doc")
      .def("purge", &purge, py::kw_only(), py::arg("settled_before"), R"doc(
Deletes promises that were settled before an instant, with their tasks. An id that comes back later is a new promise.

A promise stays while an undelivered message, a callback or a task that has not been told yet refers to it, and while the root of its
workflow (`resonate:origin`) is pending, since the workflow's next run reads what it has settled. What is due is fired first. It goes
in transactions of a few hundred rows, so that other callers are not kept waiting, and can be interrupted (Ctrl-C) between them. A
file keeps the room for what comes next; `vacuum()` gives it back.

Args:
    settled_before: In Unix ms; not later than now.

Returns:
    How many promises were deleted.

Raises:
    Invalid: The instant has not passed.

Example:
    >>> clock = rc.ManualClock()
    >>> store = rc.Store(clock=clock)
    >>> _ = store.promises.create("a", timeout=60_000)
    >>> _ = store.promises.resolve("a")
    >>> _ = clock.advance(1000)
    >>> store.purge(settled_before=1000)
    1
)doc")
      .def(
          "vacuum", [](const StoreHandle& self) { open(self).without_gil([](Engine& engine) { engine.vacuum(); }); }, R"doc(
Gives the room of deleted promises back to the file system. It writes the whole file anew, and others wait for it. Without effect in
memory.

Raises:
    StoreBusy: Another process uses the file.
    StoreError: The disk has no room for the copy; the file is as it was.

Example:
    >>> rc.Store(clock=rc.ManualClock()).vacuum()
)doc");
}

void bind_check_file(py::module_& module) {
  module.def(
      "check_file",
      [](const TargetArgument& given) {
        const std::string path = path_of(given);
        py::typing::List<py::str> problems;
        for (const std::string& problem : [&path] {
               const OutsidePython outside;
               return check_sqlite_file(path);
             }()) {
          problems.append(py::reinterpret_steal<py::str>(
              PyUnicode_DecodeUTF8(problem.data(), static_cast<Py_ssize_t>(problem.size()), "backslashreplace")));
        }
        return problems;
      },
      py::arg("path"), R"doc(
Looks for damage in a store's file: commits in its log that cannot be read any more, damaged pages, indexes that disagree with their
tables, a schema that is not ours, rows that cannot be read. The properties of the state are `Store.check`'s; `python -m resonate_core
check FILE` looks at both. Damage that makes another valid value cannot be seen; the page on storage says what that means.

Returns:
    A line for each problem, beginning with `log`, `integrity`, `schema` or `rows`; empty for a sound file.

Raises:
    StoreError: The file cannot be opened as a store at all.

Example:
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "app.db"
    ...     rc.Store(path).close()
    ...     rc.check_file(path)
    []
)doc");
}

}  // namespace resonate::python

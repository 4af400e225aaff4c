// Maintenance of a whole store: backup, purge, vacuum, and the check of a file.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "arguments.hpp"
#include "bind.hpp"
#include "fork_safety.hpp"
#include "gil.hpp"
#include "other_addresses.hpp"
#include "resonate/file_rights.hpp"
#include "resonate/postgres.hpp"
#include "resonate/sqlite.hpp"
#include "store_handle.hpp"
#include "store_options.hpp"

namespace resonate::python {

namespace {

using TargetArgument = Shown<"str | os.PathLike[str]">;

std::string path_of_file(py::handle given) {
  return place_of_store(std::string(text(call(member_of_module("os", "fsdecode"), given), "path")), "path", Accepts::files);
}

// Stores the present instant: one at which nothing else changed may be missing in the file.
void store_instant(Engine& engine) {
  try {
    Changes instant_only;
    instant_only.stores_instant = true;
    engine.with_storage(
        [&instant_only](Storage& storage) {
          instant_only.counters = storage.counters();
          storage.write(instant_only);
        },
        Access::write);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::read_only) throw;  // a read-only store has no instant of its own
  }
}

void backup(const StoreHandle& store, const TargetArgument& given) {
  const std::string path = path_of_file(given);
  open(store).without_gil([&path](Engine& engine) {
    if (const std::string source = engine.location(); !source.empty() && !is_postgres_url(source)) {
      store_instant(engine);
      return backup_sqlite_file(source, path);
    }
    engine.with_snapshot([&path](Storage& storage) { write_sqlite_file(storage, path); });
  });
}

Purged purged(const StoreHandle& store, const InstantArgument& given) {
  const Instant settled_before = instant(given, "settled_before");
  return open(store).without_gil([=](Engine& engine) { return engine.purge(settled_before); });
}

std::size_t purge(const StoreHandle& store, const InstantArgument& given) { return purged(store, given).total(); }

// For commands that say what they deleted.
std::pair<std::size_t, Shown<"dict[str, int]">> purge_by_kind(const StoreHandle& store, const InstantArgument& given) {
  const Purged gone = purged(store, given);
  py::dict jobs;
  for (std::size_t i = 0; i < kJobStates; ++i) {
    if (gone.jobs[i] == 0) continue;
    const std::string_view state = name_of(static_cast<JobState>(i));
    jobs[py::str(state.data(), state.size())] = gone.jobs[i];
  }
  return {gone.promises, Shown<"dict[str, int]">(jobs)};
}

bool make_file_like(const TargetArgument& given, const Str& source) {
  const int made = open_with_rights(path_of_file(given), O_WRONLY | O_EXCL, rights_of_copy(std::string(text(source, "source"))));
  if (made >= 0) (void)::close(made);
  return made >= 0;
}

}  // namespace

void bind_file(StoreClass& bound) {
  bound
      .def("backup", &backup, py::arg("path"), R"doc(
Write the whole state, as of one instant, into a new SQLite file for `Store(path)`. Other callers read and write meanwhile.

Args:
    path: The path of the new file. It appears when it is complete and synced.

Raises:
    StoreError: The file exists or cannot be written; no partial file remains.

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
Delete promises that were settled before an instant, with their tasks. A later create with such an id creates a new promise.

A promise stays while an undelivered message, a callback or a task that was never dispatched refers to it, and while the root of its
workflow (`resonate:origin`) is pending, since the workflow's next run reads its settled promises. Due steps run first. The deletion
uses transactions of a few hundred rows, so that other callers wait only briefly, and Ctrl-C stops it between them. A
file keeps the freed space for later rows; `vacuum()` returns it to the file system.

Args:
    settled_before: An instant, in Unix ms or as an aware datetime, not later than now.

Returns:
    The number of deleted promises.

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
      .def("_purge_by_kind", &purge_by_kind, py::kw_only(), py::arg("settled_before"),
           "`purge`, which returns the number of promises that belong to no job, and the numbers of jobs by state.")
      .def(
          "vacuum", [](const StoreHandle& self) { open(self).without_gil([](Engine& engine) { engine.vacuum(); }); }, R"doc(
Return the space of deleted promises to the file system. It rewrites the whole file and blocks other callers. It has no effect in
memory.

Raises:
    StoreBusy: Another process uses the file.
    StoreError: The disk has no space for the copy; the file is unchanged.

Example:
    >>> rc.Store(clock=rc.ManualClock()).vacuum()
)doc");
}

void bind_check_file(py::module_& module) {
  module.def(
      "check_file",
      [](const TargetArgument& given) {
        const std::string path = path_of_file(given);
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
Check a store's file for damage: unreadable commits in its log, damaged pages, indexes that disagree with their
tables, an unknown schema, unreadable rows. `Store.check` checks the invariants of the state; `python -m resonate_core
check FILE` does both. Damage that makes another valid value is not detected; see the page on storage.

Returns:
    A line for each problem, beginning with `names`, `log`, `integrity`, `schema`, `numbers` or `rows`; empty for a sound file.

Raises:
    StoreError: The file cannot be opened as a store.

Example:
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "app.db"
    ...     rc.Store(path).close()
    ...     rc.check_file(path)
    []
)doc");
  module.def("make_file_like", &make_file_like, py::arg("path"), py::arg("source"), R"doc(
Make an empty file for a copy of a store, which at most those may read who may read the store's own file. A file that exists is left
as it is.

Args:
    path: Of the new file.
    source: `Store.path` or `Store.url` of the store.

Returns:
    Whether the file was made.

Example:
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "copy.db"
    ...     rc._core.make_file_like(path, "postgresql://localhost/app"), oct(path.stat().st_mode & 0o777)
    (True, '0o600')
)doc");
}

}  // namespace resonate::python

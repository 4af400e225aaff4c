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
  bound.def("backup", &backup, py::arg("path"))
      .def("purge", &purge, py::kw_only(), py::arg("settled_before"))
      .def("_purge_by_kind", &purge_by_kind, py::kw_only(), py::arg("settled_before"))
      .def("vacuum", [](const StoreHandle& self) { open(self).without_gil([](Engine& engine) { engine.vacuum(); }); });
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
      py::arg("path"));
  module.def("make_file_like", &make_file_like, py::arg("path"), py::arg("source"));
}

}  // namespace resonate::python

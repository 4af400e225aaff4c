// Databases: their use by this process, and the versions of a store's tables.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "arguments.hpp"
#include "bind.hpp"
#include "fork_safety.hpp"
#include "gil.hpp"
#include "other_addresses.hpp"
#include "resonate/postgres.hpp"
#include "resonate/sqlite.hpp"

namespace resonate::python {

namespace {

py::typing::Dict<py::str, py::int_> counts() {
  const DatabaseCounts now = database_counts();
  py::dict made;
  made["open_connections"] = now.open_connections;
  made["connections"] = now.connections;
  made["round_trips"] = now.round_trips;
  made["lock_timeouts"] = now.lock_timeouts;
  made["lost_commits"] = now.lost_commits;
  made["shared_commits"] = now.shared_commits;
  made["run_again"] = now.run_again;
  made["optimistic_commits"] = now.optimistic_commits;
  made["listening_workers"] = now.listening_workers;
  return made;
}

std::tuple<std::string, std::optional<std::int64_t>, std::int64_t> versions(const py::str& given) {
  const std::string place = place_of_store(std::string(text(given, "path_or_url")), "path_or_url", Accepts::stores);
  const OutsidePython outside;
  SchemaVersions versions = is_postgres_url(place) ? postgres_schema_versions(place) : sqlite_schema_versions(place);
  return {std::move(versions.location), versions.found, versions.newest};
}

std::string place(const py::str& given, const std::string& argument) {
  return place_of_store(std::string(text(given, "text")), argument.c_str(), Accepts::stores);
}

std::string path(const py::str& given, const std::string& argument) {
  return place_of_store(std::string(text(given, "text")), argument.c_str(), Accepts::files);
}

std::tuple<std::string, int> library() {
  SqliteLibrary used = sqlite_library();
  return {std::move(used.source_id), used.open_files};
}

}  // namespace

void bind_database(py::module_& module) {
  module.def("database_counts", &counts);
  module.def("sqlite_library", &library);
  module.def("place_of_store", &place, py::arg("text"), py::arg("argument"));
  module.def("path_of_file", &path, py::arg("text"), py::arg("argument"));
  module.def("without_secrets", &without_secrets, py::arg("url"));
  module.def("schema_versions", &versions, py::arg("path_or_url"));
}

}  // namespace resonate::python

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
#include "resonate/postgres.hpp"
#include "resonate/sqlite.hpp"
#include "store_options.hpp"

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
  return made;
}

std::tuple<std::string, std::optional<std::int64_t>, std::int64_t> versions(const py::str& given) {
  const std::string place(text(given, "path_or_url"));
  if (!is_postgres_url(place)) refuse_other_addresses(place, "path_or_url");
  const OutsidePython outside;
  SchemaVersions versions = is_postgres_url(place) ? postgres_schema_versions(place) : sqlite_schema_versions(place);
  return {std::move(versions.location), versions.found, versions.newest};
}

std::tuple<std::string, int> library() {
  SqliteLibrary used = sqlite_library();
  return {std::move(used.source_id), used.open_files};
}

}  // namespace

void bind_database(py::module_& module) {
  module.def("database_counts", &counts, R"doc(
Return how much all stores of this process have used their databases since it started. Files are not counted.

Returns:
    `open_connections` at present; `connections` that were opened, also in the place of lost ones; `round_trips` to a server;
    `lock_timeouts`: transactions that waited for another writer longer than `busy_timeout`; `lost_commits`: commits whose answer was
    lost, so that the server was asked for their outcome.

Example:
    >>> rc.Store(clock=rc.ManualClock()).close()
    >>> sorted(rc.database_counts())
    ['connections', 'lock_timeouts', 'lost_commits', 'open_connections', 'round_trips']
)doc");
  module.def("sqlite_library", &library, R"doc(
Return the source id of the SQLite library that stores use, and how many files they have open.

Example:
    >>> from resonate_core._core import sqlite_library
    >>> source_id, open_files = sqlite_library()
    >>> source_id.startswith("20"), open_files >= 0
    (True, True)
)doc");
  module.def("schema_versions", &versions, py::arg("path_or_url"), R"doc(
Return the place of a store (of a URL without passwords), the version of its tables (None: there are none), and the version of this
release. It changes nothing.

Args:
    path_or_url: As of `Store`.

Raises:
    Invalid: The URL cannot be parsed.
    StoreError: The file or the database cannot be read, its tables are damaged, or a newer release has made them.
    Unsupported: libpq is missing.

Example:
    >>> from resonate_core._core import schema_versions
    >>> schema_versions("postgresql://?schema=Mine")
    Traceback (most recent call last):
    resonate_core.errors.Invalid: path_or_url must be a URL that PostgreSQL's client accepts: schema must be 1 to 63 of a-z, 0-9 and _, got "Mine"
)doc");
}

}  // namespace resonate::python

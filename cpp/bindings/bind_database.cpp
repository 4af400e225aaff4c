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
  module.def("place_of_store", &place, py::arg("text"), py::arg("argument"), R"doc(
Return the path or the URL of PostgreSQL that a text names, as `Store` reads it.

Args:
    text: The text.
    argument: Its name, for the error.

Raises:
    Invalid: It is the address of something else, or one of ours in another form; the error names the nearest form.
    Unsupported: The same, for other URLs.

Example:
    >>> from resonate_core._core import place_of_store
    >>> place_of_store("sqlite:///app.db", "place")
    'app.db'
    >>> place_of_store("host = db dbname = app", "place")
    Traceback (most recent call last):
    resonate_core.errors.Invalid: place must be the path of a SQLite file or a URL sqlite:/// or postgresql://, got a connection string: write 'postgresql://db/app', or an absolute path for a file of that name
)doc");
  module.def("path_of_file", &path, py::arg("text"), py::arg("argument"), R"doc(
Return the path of a SQLite file that a text names, as `check_file` reads it.

Args:
    text: The text.
    argument: Its name, for the error.

Raises:
    Invalid: It is the address of a database or of something else.
    Unsupported: The same, for other URLs.

Example:
    >>> from resonate_core._core import path_of_file
    >>> path_of_file("sqlite:///app.db", "FILE")
    'app.db'
)doc");
  module.def("without_secrets", &without_secrets, py::arg("url"), R"doc(
Return a text that looks like an address without what may be its user and its passwords, for messages.

Example:
    >>> from resonate_core._core import without_secrets
    >>> without_secrets("ftp://me:secret@shop.test/x?key=secret")
    'ftp://...@shop.test/x?...'
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

// What bounds a typed call: a pybind11 function that takes the same keywords, fills a map and gives a record object back.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

namespace py = pybind11;

struct Record {
  std::string id;
  std::int64_t timeout_at = 0;
  std::optional<std::string> param;
  std::map<std::string, std::string> tags;
};

class Map {
 public:
  std::shared_ptr<Record> create(const std::string& id, std::int64_t timeout_at, std::optional<std::string> param,
                                 std::map<std::string, std::string> tags) {
    auto record = std::make_shared<Record>(Record{id, timeout_at, std::move(param), std::move(tags)});
    records_.emplace(id, record);
    return record;
  }

 private:
  std::unordered_map<std::string, std::shared_ptr<Record>> records_;
};

PYBIND11_MODULE(resonate_bench_probe, m) {
  py::class_<Record, std::shared_ptr<Record>>(m, "Record")
      .def_readonly("id", &Record::id)
      .def_readonly("timeout_at", &Record::timeout_at);
  py::class_<Map>(m, "Map")
      .def(py::init<>())
      .def("create", &Map::create, py::arg("id"), py::kw_only(), py::arg("timeout_at"), py::arg("param") = py::none(),
           py::arg("tags") = std::map<std::string, std::string>());
}

// Stores in every backend: tests that take a Backend as parameter run in memory and in a SQLite file.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "fake_store.hpp"
#include "resonate/sqlite.hpp"

namespace resonate::fake {

enum class Backend { memory, sqlite };

inline std::string name_of(const ::testing::TestParamInfo<Backend>& backend) {
  return backend.param == Backend::memory ? "Memory" : "Sqlite";
}

// A new temporary folder; the destructor removes it.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "resonate-XXXXXX").string();
    if (!::mkdtemp(name.data())) std::abort();
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;  // if a crashed test left files open, this is not a second failure
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// Declare it before the stores that it makes, so that it outlives them.
class Backends {
 public:
  std::unique_ptr<Storage> storage(Backend backend) {
    if (backend == Backend::memory) return make_memory_storage();
    return open_sqlite_storage(folder_.file(std::to_string(++files_) + ".db"), {.durability = Durability::normal});
  }
  // The file that was made last.
  std::string last_file() const { return folder_.file(std::to_string(files_) + ".db"); }

 private:
  Folder folder_;
  int files_ = 0;
};

}  // namespace resonate::fake

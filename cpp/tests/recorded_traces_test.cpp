// Replays the traces that the conformance tests in Python record of their stores. The behaviour that they check thus runs under the
// sanitizers, too. RESONATE_TRACES names the folder; scripts/test sets it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fake_backends.hpp"
#include "protocol/trace.hpp"
#include "resonate/errors.hpp"

namespace resonate {
namespace {

// Every kOneInFile-th trace is also replayed in a file, which takes ten times as long. The recording tests run on both backends.
constexpr std::size_t kOneInFile = 4;

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(std::move(line));
  return lines;
}

class RecordedTraces : public ::testing::TestWithParam<fake::Backend> {
 protected:
  fake::Folder folder_;

  // All traces that are replayed on SQLite use the same file, so that thousands of traces do not make thousands of files.
  MoveContents move() const {
    if (GetParam() == fake::Backend::memory) return {};
    return [this](std::unique_ptr<Storage> contents) {
      std::unique_ptr<Storage> file = open_sqlite_storage(folder_.file("replayed.db"), {.durability = Durability::normal});
      const StorageTransaction writing(*file, Access::write);
      copy_state(*contents, *file);
      return file;
    };
  }
};

TEST_P(RecordedTraces, ReplayTheSame) {
  const char* const traces = std::getenv("RESONATE_TRACES");
  // The conformance tests record the traces, so scripts/test names their folder and runs this test after them. A program that is
  // run by hand has no folder.
  if (!traces) GTEST_SKIP() << "RESONATE_TRACES names no folder of traces";
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(traces))
    if (entry.path().extension() == ".jsonl") files.push_back(entry.path());
  std::ranges::sort(files);
  ASSERT_FALSE(files.empty()) << "no test recorded a trace in " << traces;
  const MoveContents moved = move();
  const std::size_t step = GetParam() == fake::Backend::memory ? 1 : kOneInFile;
  for (std::size_t at = 0; at < files.size(); at += step) {
    const std::filesystem::path& file = files[at];
    SCOPED_TRACE(file.filename().string());
    try {
      const ReplayResult result = replay(lines_of(file), moved);
      EXPECT_TRUE(result.ok) << "line " << result.line.value_or(0) << "\n" << result.expected << "\n" << result.got;
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, RecordedTraces, ::testing::Values(fake::Backend::memory, fake::Backend::sqlite), fake::name_of);

}  // namespace
}  // namespace resonate

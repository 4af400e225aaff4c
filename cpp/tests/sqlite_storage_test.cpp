// Behaviour of SQLite only: files, several connections, damage. The Python tests that run on every storage show that it holds rows
// as memory does.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

#include "codec/snapshot.hpp"
#include "resonate/clock.hpp"
#include "resonate/engine.hpp"
#include "resonate/errors.hpp"
#include "resonate/sqlite.hpp"
#include "storage/sqlite_schema.hpp"

namespace resonate {
namespace {

namespace fs = std::filesystem;

class SqliteStorageTest : public testing::Test {
 protected:
  SqliteStorageTest() {
    std::string name = (fs::temp_directory_path() / "resonate-XXXXXX").string();
    if (!::mkdtemp(name.data())) std::abort();
    folder_ = name;
  }
  ~SqliteStorageTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name = "app.db") const { return (folder_ / name).string(); }
  static std::shared_ptr<Engine> open(const std::string& path, SqliteOptions options = {}) {
    return Engine::create(open_sqlite_storage(path, options), std::make_shared<ManualClock>(0), Options{});
  }
  static Reply create(Engine& engine, const std::string& id, Instant timeout_at = 1'000'000, const char* target = nullptr) {
    PromiseCreate request;
    request.id = id;
    request.timeout_at = timeout_at;
    request.param.data = "cGFyYW0=";
    request.tags.set("resonate:external", "true");
    if (target) request.tags.set("resonate:target", target);
    return engine.apply(Request{DialectId::k2026_04_01, std::move(request)});
  }
  static Reply settle(Engine& engine, const std::string& id) {
    PromiseSettle request;
    request.id = id;
    request.state = "resolved";
    return engine.apply(Request{DialectId::k2026_04_01, std::move(request)});
  }
  static Reply get(Engine& engine, const std::string& id) { return engine.apply(Request{DialectId::k2026_04_01, PromiseGet{id}}); }
  static std::string digest_of(Engine& engine) {
    return engine.with_storage([](Storage& storage) { return digest(storage, {}); });
  }
  // The code and the message of the Error that the body throws.
  template <class Body>
  static std::pair<ErrorCode, std::string> refusal(Body body) {
    try {
      body();
    } catch (const Error& error) {
      return {error.code(), error.what()};
    }
    ADD_FAILURE() << "nothing was thrown";
    return {ErrorCode::invalid, ""};
  }

  fs::path folder_;
};

TEST_F(SqliteStorageTest, WhatWasStoredIsThereAfterClosing) {
  std::string before;
  {
    const auto engine = open(path());
    create(*engine, "a", 5000, "poll://any@workers");
    create(*engine, "b");
    settle(*engine, "b");
    before = digest_of(*engine);
  }
  const auto engine = open(path());
  EXPECT_EQ(digest_of(*engine), before);
  EXPECT_EQ(get(*engine, "b").promise->state, PromiseState::resolved);
  EXPECT_EQ(engine->next_due(), 5000);  // the promise's deadline
  EXPECT_TRUE(engine->check().empty());
}

TEST_F(SqliteStorageTest, TwoConnectionsSeeEachOther) {
  const auto one = open(path());
  const auto other = open(path());
  EXPECT_EQ(get(*other, "a").status, 404);
  create(*one, "a");
  EXPECT_EQ(get(*other, "a").status, 200);
  settle(*other, "a");
  EXPECT_EQ(get(*one, "a").promise->state, PromiseState::resolved);  // not the state that this connection had cached
  create(*one, "late", 40);
  EXPECT_EQ(other->tick(50).size(), 1u);
  EXPECT_TRUE(one->tick(50).empty());  // each due step runs once
  EXPECT_EQ(digest_of(*one), digest_of(*other));
}

TEST_F(SqliteStorageTest, AWriterWaitsForAnotherWithinBounds) {
  const auto engine = open(path(), {.durability = Durability::normal, .read_only = false, .busy_timeout = 20});
  create(*engine, "a");
  SQLite::Database other(path(), SQLite::OPEN_READWRITE);
  other.exec("BEGIN IMMEDIATE");
  const auto [code, message] = refusal([&] { create(*engine, "b"); });
  EXPECT_EQ(code, ErrorCode::busy);
  EXPECT_NE(message.find(path()), std::string::npos) << message;
  EXPECT_EQ(get(*engine, "a").status, 200);  // readers do not wait
  EXPECT_EQ(engine->tick().size(), 0u);
  other.exec("ROLLBACK");
  EXPECT_EQ(create(*engine, "b").status, 200);
}

TEST_F(SqliteStorageTest, AReadOnlyStoreIsLookedAtOnly) {
  EXPECT_EQ(refusal([&] { open(path(), {.durability = Durability::full, .read_only = true}); }).first, ErrorCode::storage);
  EXPECT_FALSE(fs::exists(path()));
  { create(*open(path()), "a"); }
  const auto engine = open(path(), {.durability = Durability::full, .read_only = true});
  EXPECT_EQ(get(*engine, "a").status, 200);
  EXPECT_EQ(refusal([&] { create(*engine, "b"); }).first, ErrorCode::read_only);
  EXPECT_EQ(refusal([&] { engine->vacuum(); }).first, ErrorCode::read_only);
  EXPECT_EQ(get(*engine, "b").status, 404);
}

TEST_F(SqliteStorageTest, FilesThatAreNotAStoresAreLeftAsTheyWere) {
  const auto bytes_of = [](const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  std::ofstream(path("notes.txt")) << "These are notes, and no database at all; there are more than a hundred bytes of them, "
                                      "so that there is a header to look at.";
  {
    SQLite::Database other(path("other.db"), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    other.exec("CREATE TABLE resonate_edges (a)");
    SQLite::Database plain(path("plain.db"), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    plain.exec("CREATE TABLE t (a); CREATE INDEX promises_by_due ON t (a)");
  }
  { open(path("newer.db")); }
  SQLite::Database(path("newer.db"), SQLite::OPEN_READWRITE)
      .exec("UPDATE resonate_store_version SET version = version + 1; PRAGMA wal_checkpoint(TRUNCATE)");
  const std::vector<std::pair<std::string, std::string>> cases = {{"notes.txt", "not a SQLite database"},
                                                                  {"other.db", "needs the name \"resonate_edges\""},
                                                                  {"plain.db", "needs the name \"promises_by_due\""},
                                                                  {"newer.db", "newer release"}};
  for (const auto& [name, cause] : cases) {
    const std::string before = bytes_of(path(name));
    const auto [code, message] = refusal([&, file = name] { open(path(file)); });
    EXPECT_EQ(code, ErrorCode::storage);
    EXPECT_NE(message.find(path(name)), std::string::npos) << message;
    EXPECT_NE(message.find(cause), std::string::npos) << message;
    EXPECT_EQ(bytes_of(path(name)), before) << name;
  }
}

TEST_F(SqliteStorageTest, PathsThatCannotBeOpenedAreNamed) {
  EXPECT_NE(refusal([&] { open(path("none/app.db")); }).second.find("the folder"), std::string::npos);
  EXPECT_NE(refusal([&] { open(folder_.string()); }).second.find("it is a folder"), std::string::npos);
}

TEST_F(SqliteStorageTest, ADamagedFileIsNoticed) {
  {
    const auto engine = open(path());
    for (int i = 0; i < 200; ++i) create(*engine, "promise-" + std::to_string(i));
  }
  EXPECT_TRUE(check_sqlite_file(path()).empty());
  const auto size = fs::file_size(path());
  fs::copy_file(path(), path("short.db"));
  fs::resize_file(path("short.db"), size / 2);
  EXPECT_NE(refusal([&] { open(path("short.db")); }).second.find("damaged"), std::string::npos);
  {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(size - 4096));
    file << std::string(4096, 'x');
  }
  EXPECT_FALSE(check_sqlite_file(path()).empty());
}

TEST_F(SqliteStorageTest, ASchemaThatIsNotOursIsNamed) {
  { open(path()); }
  SQLite::Database(path(), SQLite::OPEN_READWRITE)
      .exec("DROP INDEX promises_by_due; CREATE INDEX stray ON resonate_promises (id); CREATE TABLE of_the_application (a)");
  const std::vector<std::string> problems = check_sqlite_file(path());
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(problems[0], "schema: stray does not belong to a store");
  EXPECT_EQ(problems[1], "schema: promises_by_due is missing");
}

TEST_F(SqliteStorageTest, ABackupIsCompleteAndReplacesNothing) {
  const auto engine = open(path());
  for (int i = 0; i < 50; ++i) create(*engine, "promise-" + std::to_string(i));
  backup_sqlite_file(path(), path("copy.db"));
  EXPECT_EQ(digest_of(*open(path("copy.db"))), digest_of(*engine));
  EXPECT_NE(refusal([&] { backup_sqlite_file(path(), path("copy.db")); }).second.find("the target must not exist"),
            std::string::npos);
  EXPECT_EQ(refusal([&] { backup_sqlite_file(path(), path("none/copy.db")); }).first, ErrorCode::storage);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder_)) ++files;
  EXPECT_LE(files, 6u);  // two stores with their logs, and no partial copy
}

TEST_F(SqliteStorageTest, AnInstantThatNothingHappenedAtOutlivesACleanClose) {
  {
    const auto engine = open(path());
    engine->tick(777);
  }
  EXPECT_EQ(open(path())->clock()->now(), 777);
}

TEST_F(SqliteStorageTest, AConnectionClosedForAForkOpensAgain) {
  const auto engine = open(path());
  create(*engine, "a");
  close_connections_for_fork();
  EXPECT_EQ(get(*engine, "a").status, 200);
  close_connections_for_fork();
  EXPECT_EQ(settle(*engine, "a").status, 200);
  close_connections_for_fork();
  engine->vacuum();
  EXPECT_TRUE(engine->check().empty());
  close_connections_for_fork();
  fs::rename(path(), path("elsewhere.db"));
  EXPECT_NE(refusal([&] { get(*engine, "a"); }).second.find("the file does not exist"), std::string::npos);
}

TEST_F(SqliteStorageTest, PurgeKeepsWhatIsStillReferredTo) {
  const auto engine = open(path());
  const Instant now = engine->clock()->now();
  create(*engine, "done");
  settle(*engine, "done");
  create(*engine, "heard");
  engine->apply(Request{DialectId::k2026_04_01, RegisterListener{"heard", "poll://uni@listeners/1"}});
  settle(*engine, "heard");
  create(*engine, "root");
  PromiseCreate child;
  child.id = "root.1";
  child.timeout_at = 1'000'000;
  child.tags.set("resonate:origin", "root");
  engine->apply(Request{DialectId::k2026_04_01, std::move(child)});
  settle(*engine, "root.1");
  EXPECT_EQ(refusal([&] { engine->purge(now + 1); }).first, ErrorCode::invalid);
  engine->tick(100);
  EXPECT_EQ(engine->purge(100).total(), 1u);
  EXPECT_EQ(get(*engine, "done").status, 404);
  EXPECT_EQ(get(*engine, "heard").status, 200);   // its unblock is undelivered
  EXPECT_EQ(get(*engine, "root.1").status, 200);  // its workflow is still running
  EXPECT_EQ(engine->take_messages().size(), 1u);
  settle(*engine, "root");
  engine->tick(200);
  EXPECT_EQ(engine->purge(200).total(), 3u);
  EXPECT_TRUE(engine->check().empty());
  EXPECT_EQ(engine->promise_count(), 0u);
}

}  // namespace
}  // namespace resonate

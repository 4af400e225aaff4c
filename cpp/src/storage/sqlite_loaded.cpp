// For a module that loads SQLite: each function that SQLiteCpp and we call is defined here, and calls the one of the library that
// was chosen. The compiler holds these definitions against the declarations of <sqlite3.h>.
#include <dlfcn.h>
#include <sqlite3.h>

#include <atomic>
#include <mutex>
#include <string>

#include "resonate/errors.hpp"
#include "resonate/sqlite_copies.hpp"

namespace resonate {

namespace {

constexpr int kOldestVersion = 3'037'000;
constexpr const char* kOwnCopy = "/_libraries/libresonate_sqlite3.so";  // below the folder of the module

using SqliteBusyHandler = int (*)(void*, int);
using SqliteProgressHandler = int (*)(void*);
using SqliteRowCallback = int (*)(void*, int, char**, char**);
using SqliteFunction = void (*)(sqlite3_context*, int, sqlite3_value**);
using SqliteFinal = void (*)(sqlite3_context*);

// clang-format off
#define RESONATE_SQLITE_CALLS(CALL) \
  CALL(int, sqlite3_backup_finish, (sqlite3_backup* backup), (backup)) \
  CALL(sqlite3_backup*, sqlite3_backup_init, (sqlite3* target, const char* target_name, sqlite3* source, const char* source_name), (target, target_name, source, source_name)) \
  CALL(int, sqlite3_backup_pagecount, (sqlite3_backup* backup), (backup)) \
  CALL(int, sqlite3_backup_remaining, (sqlite3_backup* backup), (backup)) \
  CALL(int, sqlite3_backup_step, (sqlite3_backup* backup, int pages), (backup, pages)) \
  CALL(int, sqlite3_bind_blob, (sqlite3_stmt* statement, int index, const void* data, int size, sqlite3_destructor_type destroy), (statement, index, data, size, destroy)) \
  CALL(int, sqlite3_bind_double, (sqlite3_stmt* statement, int index, double value), (statement, index, value)) \
  CALL(int, sqlite3_bind_int, (sqlite3_stmt* statement, int index, int value), (statement, index, value)) \
  CALL(int, sqlite3_bind_int64, (sqlite3_stmt* statement, int index, sqlite3_int64 value), (statement, index, value)) \
  CALL(int, sqlite3_bind_null, (sqlite3_stmt* statement, int index), (statement, index)) \
  CALL(int, sqlite3_bind_parameter_count, (sqlite3_stmt* statement), (statement)) \
  CALL(int, sqlite3_bind_parameter_index, (sqlite3_stmt* statement, const char* name), (statement, name)) \
  CALL(int, sqlite3_bind_text, (sqlite3_stmt* statement, int index, const char* text, int size, sqlite3_destructor_type destroy), (statement, index, text, size, destroy)) \
  CALL(int, sqlite3_busy_handler, (sqlite3* database, SqliteBusyHandler handler, void* context), (database, handler, context)) \
  CALL(int, sqlite3_busy_timeout, (sqlite3* database, int milliseconds), (database, milliseconds)) \
  CALL(int, sqlite3_changes, (sqlite3* database), (database)) \
  CALL(int, sqlite3_clear_bindings, (sqlite3_stmt* statement), (statement)) \
  CALL(int, sqlite3_close, (sqlite3* database), (database)) \
  CALL(const void*, sqlite3_column_blob, (sqlite3_stmt* statement, int column), (statement, column)) \
  CALL(int, sqlite3_column_bytes, (sqlite3_stmt* statement, int column), (statement, column)) \
  CALL(int, sqlite3_column_count, (sqlite3_stmt* statement), (statement)) \
  CALL(const char*, sqlite3_column_decltype, (sqlite3_stmt* statement, int column), (statement, column)) \
  CALL(double, sqlite3_column_double, (sqlite3_stmt* statement, int column), (statement, column)) \
  CALL(int, sqlite3_column_int, (sqlite3_stmt* statement, int column), (statement, column)) \
  CALL(sqlite3_int64, sqlite3_column_int64, (sqlite3_stmt* statement, int column), (statement, column)) \
  CALL(const char*, sqlite3_column_name, (sqlite3_stmt* statement, int column), (statement, column)) \
  CALL(const unsigned char*, sqlite3_column_text, (sqlite3_stmt* statement, int column), (statement, column)) \
  CALL(int, sqlite3_column_type, (sqlite3_stmt* statement, int column), (statement, column)) \
  CALL(int, sqlite3_create_function_v2, (sqlite3* database, const char* name, int arguments, int encoding, void* context, SqliteFunction function, SqliteFunction step, SqliteFinal final, sqlite3_destructor_type destroy), (database, name, arguments, encoding, context, function, step, final, destroy)) \
  CALL(const char*, sqlite3_db_filename, (sqlite3* database, const char* name), (database, name)) \
  CALL(int, sqlite3_errcode, (sqlite3* database), (database)) \
  CALL(const char*, sqlite3_errmsg, (sqlite3* database), (database)) \
  CALL(const char*, sqlite3_errstr, (int code), (code)) \
  CALL(int, sqlite3_exec, (sqlite3* database, const char* sql, SqliteRowCallback callback, void* context, char** message), (database, sql, callback, context, message)) \
  CALL(char*, sqlite3_expanded_sql, (sqlite3_stmt* statement), (statement)) \
  CALL(int, sqlite3_extended_errcode, (sqlite3* database), (database)) \
  CALL(int, sqlite3_finalize, (sqlite3_stmt* statement), (statement)) \
  CALL(void, sqlite3_free, (void* memory), (memory)) \
  CALL(int, sqlite3_get_autocommit, (sqlite3* database), (database)) \
  CALL(sqlite3_int64, sqlite3_last_insert_rowid, (sqlite3* database), (database)) \
  CALL(const char*, sqlite3_libversion, (), ()) \
  CALL(int, sqlite3_libversion_number, (), ()) \
  CALL(int, sqlite3_open_v2, (const char* path, sqlite3** database, int flags, const char* vfs), (path, database, flags, vfs)) \
  CALL(int, sqlite3_prepare_v2, (sqlite3* database, const char* sql, int size, sqlite3_stmt** statement, const char** rest), (database, sql, size, statement, rest)) \
  CALL(void, sqlite3_progress_handler, (sqlite3* database, int steps, SqliteProgressHandler handler, void* context), (database, steps, handler, context)) \
  CALL(int, sqlite3_reset, (sqlite3_stmt* statement), (statement)) \
  CALL(const char*, sqlite3_sourceid, (), ()) \
  CALL(int, sqlite3_step, (sqlite3_stmt* statement), (statement)) \
  CALL(int, sqlite3_system_errno, (sqlite3* database), (database)) \
  CALL(int, sqlite3_threadsafe, (), ()) \
  CALL(int, sqlite3_total_changes, (sqlite3* database), (database))
// clang-format on

struct Calls {
#define RESONATE_CALL(result, name, parameters, arguments) decltype(&::name) name = nullptr;
  RESONATE_SQLITE_CALLS(RESONATE_CALL)
#undef RESONATE_CALL
};

// Returns the name of the first function that the library does not have; null: it has all.
const char* find_calls(void* library, Calls& calls) {
#define RESONATE_CALL(result, name, parameters, arguments)                      \
  calls.name = reinterpret_cast<decltype(calls.name)>(::dlsym(library, #name)); \
  if (!calls.name) return #name;
  RESONATE_SQLITE_CALLS(RESONATE_CALL)
#undef RESONATE_CALL
  return nullptr;
}

struct Chosen {
  Calls calls;
  bool is_own = false;
};

std::mutex choosing;
std::atomic<const Chosen*> chosen = nullptr;  // once set, it stays

std::string own_copy() {
  Dl_info here{};
  if (::dladdr(reinterpret_cast<void*>(&load_sqlite), &here) == 0 || !here.dli_fname) return kOwnCopy;
  const std::string module = here.dli_fname;
  return module.substr(0, module.rfind('/')) + kOwnCopy;
}

// The copy beside the module; without one, as in a program that embeds the core alone, the system's.
Chosen load_own_copy() {
  void* library = ::dlopen(own_copy().c_str(), RTLD_NOW | RTLD_LOCAL);
  const std::string problem = library ? std::string() : std::string(::dlerror());
  if (!library) library = ::dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!library) throw Error(ErrorCode::unsupported, "no SQLite library can be loaded: " + problem);
  Chosen found{.calls = {}, .is_own = true};
  if (const char* const missing = find_calls(library, found.calls))
    throw Error(ErrorCode::unsupported, std::string("a SQLite library without the function ") + missing + " was loaded");
  if (found.calls.sqlite3_libversion_number() < kOldestVersion)
    throw Error(ErrorCode::unsupported,
                std::string("SQLite must be of version 3.37 or newer, got ") + found.calls.sqlite3_libversion());
  return found;
}

Chosen choose(void* shared) {
  Chosen found;
  if (shared && !find_calls(shared, found.calls) && found.calls.sqlite3_libversion_number() >= kOldestVersion &&
      found.calls.sqlite3_threadsafe() != 0)
    return found;
  return load_own_copy();
}

const Chosen& chosen_library(void* shared) {
  if (const Chosen* const found = chosen.load(std::memory_order_acquire)) return *found;
  std::lock_guard lock(choosing);
  if (!chosen) chosen = new Chosen(choose(shared));  // never destroyed: a storage may outlive every static object
  return *chosen;
}

const Calls& calls() { return chosen_library(nullptr).calls; }

}  // namespace

bool sqlite_is_loaded() noexcept { return true; }

void load_sqlite(void* shared) { chosen_library(shared); }

bool sqlite_is_own_copy() noexcept {
  const Chosen* const found = chosen;
  return found && found->is_own;
}

}  // namespace resonate

extern "C" {

using namespace resonate;

#define RESONATE_CALL(result, name, parameters, arguments) \
  result name parameters { return calls().name arguments; }
RESONATE_SQLITE_CALLS(RESONATE_CALL)
#undef RESONATE_CALL

// SQLiteCpp offers to load extensions, which a store never does.
int sqlite3_load_extension(sqlite3*, const char*, const char*, char**) { return SQLITE_ERROR; }
int sqlite3_db_config(sqlite3*, int, ...) { return SQLITE_ERROR; }

}  // extern "C"

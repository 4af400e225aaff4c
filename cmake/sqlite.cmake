# SQLite, and SQLiteCpp over it. Two copies of SQLite that open one file in one process undo each other's locks, so the store uses
# the copy of Python's own sqlite3 module (docs/decisions/0027-sqlite-of-a-wheel.md). How it gets there is RESONATE_SQLITE:
#
#   LINK  the module is linked to the system's library, as Python's sqlite3 is on most systems.
#   LOAD  the module finds the library of Python's sqlite3 when it is imported, and carries a copy for a Python without one. Needs
#         nothing installed, neither when it is built nor when it runs.
#   AUTO  LINK if the headers of SQLite are installed, else LOAD.

set(RESONATE_SQLITE AUTO CACHE STRING "Where SQLite comes from: AUTO, LINK (the system's library), LOAD (Python's, at run time)")
set_property(CACHE RESONATE_SQLITE PROPERTY STRINGS AUTO LINK LOAD)
if(NOT RESONATE_SQLITE MATCHES "^(AUTO|LINK|LOAD)$")
  message(FATAL_ERROR "RESONATE_SQLITE is ${RESONATE_SQLITE}; it takes AUTO, LINK or LOAD")
endif()

set(resonate_sqlite_is_loaded OFF)
if(RESONATE_SQLITE STREQUAL "LOAD")
  set(resonate_sqlite_is_loaded ON)
else()
  find_package(SQLite3 3.37)
  if(NOT SQLite3_FOUND)
    if(RESONATE_SQLITE STREQUAL "LINK" OR RESONATE_FETCH_DEPS STREQUAL "OFF" OR NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
      message(FATAL_ERROR "SQLite 3.37 or newer is not installed (Debian: libsqlite3-dev)")
    endif()
    message(STATUS "SQLite: its headers are not installed, so the module will load the library of Python's sqlite3")
    set(resonate_sqlite_is_loaded ON)
  endif()
endif()

if(resonate_sqlite_is_loaded)
  enable_language(C)
  resonate_fetch(sqlite3
    https://www.sqlite.org/2026/sqlite-amalgamation-3530400.zip
    1e71ddf93849c6a6ecf58b827c0692073d2dd7ee40196158068f7b29f422e87d)
  FetchContent_GetProperties(sqlite3)  # sets sqlite3_SOURCE_DIR

  # The copy that the module carries. Its own calls stay inside it (-Bsymbolic), whatever other copy the program exports.
  add_library(resonate_sqlite3 SHARED ${sqlite3_SOURCE_DIR}/sqlite3.c)
  target_compile_definitions(resonate_sqlite3 PRIVATE
    SQLITE_THREADSAFE=1 SQLITE_OMIT_LOAD_EXTENSION HAVE_USLEEP HAVE_FDATASYNC)
  set_target_properties(resonate_sqlite3 PROPERTIES C_VISIBILITY_PRESET default)
  target_link_options(resonate_sqlite3 PRIVATE -Wl,-Bsymbolic)
  target_link_libraries(resonate_sqlite3 PRIVATE Threads::Threads m)
  # SQLiteCpp and we call functions of SQLite, which sqlite_loaded.cpp passes on to the library that was chosen.
  add_library(resonate_sqlite_calls STATIC)
  target_include_directories(resonate_sqlite_calls PRIVATE ${PROJECT_SOURCE_DIR}/cpp/include)
  target_include_directories(resonate_sqlite_calls SYSTEM PUBLIC ${sqlite3_SOURCE_DIR})
  target_link_libraries(resonate_sqlite_calls PRIVATE resonate_options ${CMAKE_DL_LIBS})
  add_library(SQLite::SQLite3 INTERFACE IMPORTED GLOBAL)
  target_link_libraries(SQLite::SQLite3 INTERFACE resonate_sqlite_calls)
  # A find_package(SQLite3), as SQLiteCpp has one, ends here.
  file(WRITE ${CMAKE_FIND_PACKAGE_REDIRECTS_DIR}/sqlite3-config.cmake "set(SQLite3_FOUND TRUE)\n")
  set(SQLiteCpp_TO_FETCH ON)
else()
  resonate_find(SQLiteCpp libsqlitecpp-dev 3.1)
endif()

if(SQLiteCpp_TO_FETCH)
  set(SQLITECPP_INTERNAL_SQLITE OFF)
  set(SQLITE_ENABLE_COLUMN_METADATA OFF)  # not every library has its functions, and we call none
  set(SQLITECPP_RUN_CPPLINT OFF)
  set(SQLITECPP_RUN_CPPCHECK OFF)
  set(BUILD_SHARED_LIBS OFF)
  resonate_fetch(SQLiteCpp
    https://github.com/SRombauts/SQLiteCpp/archive/refs/tags/3.2.1.tar.gz
    70c67d5680c47460f82a7abf8e6b0329bf2fb10795a982a6d8abc06adb42d693)
endif()
add_library(resonate_sqlite INTERFACE)
target_link_libraries(resonate_sqlite INTERFACE SQLiteCpp SQLite::SQLite3)

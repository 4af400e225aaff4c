# What the core is built with. An installed package is taken first; where there is
# none, a pinned release is fetched. RESONATE_FETCH_DEPS=OFF never reaches for the
# network, ON never looks at what is installed.
#
# RESONATE_MIRROR is a place to fetch from for machines that do not reach github.com and sqlite.org; the digests stay.
#
# Each dependency gets one name for the rest of the build: resonate_json,
# resonate_simdjson, resonate_date, resonate_sqlite, resonate_gtest.

set(RESONATE_FETCH_DEPS AUTO CACHE STRING "Fetch dependencies: AUTO (when missing), ON (always), OFF (never)")
set_property(CACHE RESONATE_FETCH_DEPS PROPERTY STRINGS AUTO ON OFF)
if(NOT RESONATE_FETCH_DEPS MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "RESONATE_FETCH_DEPS is ${RESONATE_FETCH_DEPS}; it takes AUTO, ON or OFF")
endif()

include(FetchContent)
# The fetched projects ask for CMake 3.1 to 3.14. Below 3.13 their option() would drop what is set for them here, and
# CMake 4 refuses to configure what asks for less than 3.5.
set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)
set(CMAKE_POLICY_DEFAULT_CMP0063 NEW)
set(CMAKE_POLICY_VERSION_MINIMUM 3.5)

set(RESONATE_MIRROR "" CACHE STRING "A URL from which releases are fetched instead, as MIRROR/<name>/<file name of the release>")

# resonate_fetch(<name> <url> <sha256>): adds the project. SYSTEM stands first: CMake 3.25 takes it for a second value of
# whatever keyword is before it.
function(resonate_fetch name url sha256)
  if(RESONATE_MIRROR)
    cmake_path(GET url FILENAME file)
    set(url "${RESONATE_MIRROR}/${name}/${file}")
  endif()
  FetchContent_Declare(${name} SYSTEM URL ${url} URL_HASH SHA256=${sha256})
  FetchContent_MakeAvailable(${name})
endfunction()

# resonate_find(<package> <Debian package> [version]): sets <package>_TO_FETCH.
macro(resonate_find package debian)
  set(${package}_TO_FETCH OFF)
  if(NOT RESONATE_FETCH_DEPS STREQUAL "ON")
    find_package(${package} ${ARGN} CONFIG QUIET)
  endif()
  if(NOT ${package}_FOUND)
    if(RESONATE_FETCH_DEPS STREQUAL "OFF")
      message(FATAL_ERROR "${package} is not installed (Debian: ${debian}); "
        "install it, or allow a download with -DRESONATE_FETCH_DEPS=AUTO")
    endif()
    set(${package}_TO_FETCH ON)
    message(STATUS "${package}: not taken from the system, fetching a pinned release")
  endif()
endmacro()

# nlohmann/json: traces, snapshots, configuration. Headers only.
resonate_find(nlohmann_json nlohmann-json3-dev 3.10)
if(nlohmann_json_TO_FETCH)
  set(JSON_BuildTests OFF)
  set(JSON_Install OFF)
  resonate_fetch(nlohmann_json
    https://github.com/nlohmann/json/releases/download/v3.11.2/json.tar.xz
    8c4b26bf4b422252e13f332bc5e388ec0ab5c3443d24399acb675e68278d341f)
endif()
add_library(resonate_json INTERFACE)
target_link_libraries(resonate_json INTERFACE nlohmann_json::nlohmann_json)

# simdjson parses envelopes of JSON. Static where the system has it so.
resonate_find(simdjson libsimdjson-dev 3.0)
if(simdjson_TO_FETCH)
  set(SIMDJSON_DEVELOPER_MODE OFF)
  set(BUILD_SHARED_LIBS OFF)
  resonate_fetch(simdjson
    https://github.com/simdjson/simdjson/archive/v3.0.1.tar.gz
    156b1bc5eb0561b2bd166b46d191fd3d95a3e709cc63761477d3b7aec2b6e9ed)
endif()
add_library(resonate_simdjson INTERFACE)
if(TARGET simdjson::simdjson_static)
  target_link_libraries(resonate_simdjson INTERFACE simdjson::simdjson_static)
else()
  target_link_libraries(resonate_simdjson INTERFACE simdjson::simdjson)
endif()

# date: time zones of cron expressions, over the system's tzdata.
resonate_find(date libhowardhinnant-date-dev 3.0)
if(date_TO_FETCH)
  set(BUILD_TZ_LIB ON)
  set(USE_SYSTEM_TZ_DB ON)
  set(BUILD_SHARED_LIBS OFF)
  resonate_fetch(date
    https://github.com/HowardHinnant/date/archive/v3.0.1.tar.gz
    7a390f200f0ccd207e8cff6757e04817c1a0aec3e327b006b7eb451c57ee3538)
endif()
add_library(resonate_date INTERFACE)
target_link_libraries(resonate_date INTERFACE date::date date::date-tz)

include(${CMAKE_CURRENT_LIST_DIR}/sqlite.cmake)

# libpq: its header only. The library is loaded when a store in PostgreSQL opens, so that who uses none needs none.
find_path(RESONATE_LIBPQ_INCLUDE libpq-fe.h PATH_SUFFIXES postgresql pgsql)
mark_as_advanced(RESONATE_LIBPQ_INCLUDE)
add_library(resonate_libpq INTERFACE)
if(RESONATE_LIBPQ_INCLUDE)
  set(resonate_has_libpq ON)
  target_include_directories(resonate_libpq SYSTEM INTERFACE ${RESONATE_LIBPQ_INCLUDE})
  target_link_libraries(resonate_libpq INTERFACE ${CMAKE_DL_LIBS})
else()
  set(resonate_has_libpq OFF)
  message(STATUS "libpq-fe.h is not installed (Debian: libpq-dev): the module is built without PostgreSQL")
endif()

if(RESONATE_BUILD_TESTS)
  resonate_find(GTest libgtest-dev 1.12)
  if(GTest_TO_FETCH)
    set(INSTALL_GTEST OFF)
    resonate_fetch(googletest
      https://github.com/google/googletest/archive/refs/tags/release-1.12.1.tar.gz
      81964fe578e9bd7c94dfdb09c8e4d6e6759e19967e397dbea48d1c10e45d0df2)
  endif()
  add_library(resonate_gtest INTERFACE)
  target_link_libraries(resonate_gtest INTERFACE GTest::gtest_main)
endif()

# Copies the headers of an imported target into the build folder, once for each version: for a build in isolation pip installs them
# anew, in another folder each time, and all that includes them would be compiled again.
function(resonate_keep_headers target version)
  get_target_property(folder ${target} INTERFACE_INCLUDE_DIRECTORIES)
  string(MAKE_C_IDENTIFIER ${target} name)
  set(kept ${CMAKE_BINARY_DIR}/headers/${name}-${version})
  if(NOT EXISTS ${kept}/complete)
    file(COPY ${folder}/ DESTINATION ${kept})
    file(TOUCH ${kept}/complete)
  endif()
  set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${kept} INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${kept})
endfunction()

# Puts the shared libraries among the named dependencies beside a Python module and
# points the module at them: the wheel then needs nothing but the C++ runtime.
function(resonate_bundle_libraries module)
  if(APPLE)
    return()
  endif()
  set(bundled OFF)
  foreach(dependency IN LISTS ARGN)
    get_target_property(libraries ${dependency} INTERFACE_LINK_LIBRARIES)
    foreach(library IN LISTS libraries)
      get_target_property(type ${library} TYPE)
      get_target_property(imported ${library} IMPORTED)
      if(NOT imported OR NOT type STREQUAL "SHARED_LIBRARY")
        continue()
      endif()
      get_target_property(configurations ${library} IMPORTED_CONFIGURATIONS)
      list(GET configurations 0 configuration)
      get_target_property(location ${library} IMPORTED_LOCATION_${configuration})
      get_target_property(soname ${library} IMPORTED_SONAME_${configuration})
      install(FILES "${location}" DESTINATION resonate_core/_libraries RENAME "${soname}" COMPONENT python)
      set(bundled ON)
    endforeach()
  endforeach()
  if(bundled)
    set_target_properties(${module} PROPERTIES INSTALL_RPATH "$ORIGIN/_libraries")
  endif()
endfunction()

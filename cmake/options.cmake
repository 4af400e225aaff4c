# Flags that every target of the project takes (link resonate_options, PRIVATE).

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo" FORCE)
endif()
# -O2, not CMake's -O3: builds faster, and the engine is bound by memory.
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
# Decided here and not by pybind11_add_module, whose default slows every link.
option(CMAKE_INTERPROCEDURAL_OPTIMIZATION "Link-time optimization" OFF)

find_program(CCACHE_PROGRAM ccache)
find_program(ENV_PROGRAM env)  # not `cmake -E env`: pip's isolated builds bring a CMake whose path changes each time
mark_as_advanced(ENV_PROGRAM)
if(CCACHE_PROGRAM AND ENV_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths below the sources are hashed as relative ones, so that checkouts and build folders of one depth share the cache; and a
  # precompiled header may be used. What the caller has set is kept: it may have a wider base.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ENV_PROGRAM})
  foreach(setting BASEDIR=${PROJECT_SOURCE_DIR} NOHASHDIR=1 SLOPPINESS=pch_defines,time_macros)
    string(REGEX MATCH "^[A-Z]+" name ${setting})
    if(DEFINED ENV{CCACHE_${name}})
      set(setting "${name}=$ENV{CCACHE_${name}}")
    endif()
    list(APPEND CMAKE_CXX_COMPILER_LAUNCHER "CCACHE_${setting}")
  endforeach()
  list(APPEND CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_CURRENT_LIST_DIR}/cached_compiler.sh ${CCACHE_PROGRAM})
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

# Headers of libraries are most of what the compiler reads: each target reads them once.
option(RESONATE_PRECOMPILED_HEADERS "Precompile the headers of libraries" ON)
function(resonate_precompile target)
  if(RESONATE_PRECOMPILED_HEADERS)
    if(ARGV1 STREQUAL "REUSE_FROM")
      target_precompile_headers(${target} ${ARGN})
    else()
      target_precompile_headers(${target} PRIVATE ${ARGN})
    endif()
  endif()
endfunction()
if(RESONATE_PRECOMPILED_HEADERS AND CCACHE_PROGRAM AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-fpch-preprocess)  # what ccache needs to see through a precompiled header
endif()

# GCC looks for memory that it can free each time its heap has doubled, which takes an eighth of its time. It has 1 GiB first.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(--param=ggc-min-heapsize=1048576)
endif()

# Each unit that is compiled repeats the headers, and a binding also some 300 functions of pybind11: several sources are one unit.
option(RESONATE_UNITY "Compile the sources of a group as one unit" ON)
# resonate_group(<target> <name> <source>...): adds sources of one noun. Names in their anonymous namespaces must differ.
function(resonate_group target name)
  target_sources(${target} PRIVATE ${ARGN})
  set_source_files_properties(${ARGN} PROPERTIES UNITY_GROUP ${name})
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${RESONATE_UNITY} UNITY_BUILD_MODE GROUP UNITY_BUILD_RELOCATABLE ON)
endfunction()

find_package(Threads REQUIRED)

add_library(resonate_options INTERFACE)
target_compile_features(resonate_options INTERFACE cxx_std_20)
target_compile_options(resonate_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough)
if(RESONATE_WARNINGS_AS_ERRORS)
  target_compile_options(resonate_options INTERFACE -Werror)
endif()
if(RESONATE_SANITIZE)
  # Set for the whole build: a sanitizer has to see every object of a program.
  add_compile_options(-fsanitize=${RESONATE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${RESONATE_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # The code that a sanitizer adds makes GCC warn of accesses that cannot happen. The builds without one keep these warnings.
    target_compile_options(resonate_options INTERFACE
      -Wno-array-bounds -Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
endif()

# The toolchain of wheels for Linux (scripts/wheels): GCC compiles, `zig cc` links. Zig has the symbols of every release of glibc, so the
# module asks for none that is newer than the one in its tag. libstdc++ is linked into it; libgcc_s, which every Linux with glibc has,
# is not: glibc itself unwinds a thread with it, and two unwinders do not understand each other's frames.
#
# Takes from the environment: RESONATE_ZIG (the command), RESONATE_WHEEL_TARGET (as x86_64-linux-gnu.2.28) and
# RESONATE_WHEEL_COMPILER (the prefix of a cross compiler, as aarch64-linux-gnu-; empty for this machine).

foreach(name ZIG WHEEL_TARGET)
  if(NOT DEFINED ENV{RESONATE_${name}})
    message(FATAL_ERROR "RESONATE_${name} is not set: run scripts/wheels")
  endif()
endforeach()
if(NOT "$ENV{RESONATE_WHEEL_COMPILER}" STREQUAL "")
  set(CMAKE_SYSTEM_NAME Linux)
  string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR "$ENV{RESONATE_WHEEL_TARGET}")
endif()
set(CMAKE_C_COMPILER "$ENV{RESONATE_WHEEL_COMPILER}gcc")
set(CMAKE_CXX_COMPILER "$ENV{RESONATE_WHEEL_COMPILER}g++")
set(CMAKE_STRIP "$ENV{RESONATE_WHEEL_COMPILER}strip")

foreach(library libstdc++.a libgcc_s.so.1 libgcc.a)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${library} OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT IS_ABSOLUTE "${path}")
    message(FATAL_ERROR "${CMAKE_CXX_COMPILER} has no ${library}")
  endif()
  string(APPEND resonate_gcc_libraries " ${path}")
endforeach()
set(resonate_link "\"$ENV{RESONATE_ZIG}\" cc -target $ENV{RESONATE_WHEEL_TARGET} -shared -O2 -Wl,--build-id=sha1 <LINK_FLAGS>")
string(APPEND resonate_link " -Wl,-soname,<TARGET_SONAME> -o <TARGET> <OBJECTS> <LINK_LIBRARIES>")
set(CMAKE_C_CREATE_SHARED_LIBRARY "${resonate_link}")
# What the module takes from Python stays undefined in it. Zig's linker does not fetch what is only weakly asked for.
set(CMAKE_CXX_CREATE_SHARED_MODULE "${resonate_link} -Wl,-z,undefs -Wl,-u,__cxa_pure_virtual -Wl,--version-script=${CMAKE_CURRENT_LIST_DIR}/exports.map ${resonate_gcc_libraries}")
set(RESONATE_OLD_GLIBC "${CMAKE_CURRENT_LIST_DIR}/old_glibc.cpp")

/* Preloaded: the wall clock of the process is off by RESONATE_CLOCK_SHIFT seconds. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t which, struct timespec *at) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  const int status = real(which, at);
  if (status == 0 && which == CLOCK_REALTIME) at->tv_sec += atol(getenv("RESONATE_CLOCK_SHIFT"));
  return status;
}

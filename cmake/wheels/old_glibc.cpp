// What libstdc++ and our objects take from a glibc that is newer than that of a wheel's tag.

// glibc 2.32 says here whether the process has one thread, so that counters need not be atomic. False is always right.
extern "C" {
extern char __libc_single_threaded;
char __libc_single_threaded = 0;
}

#!/bin/sh
# cached_compiler.sh CCACHE COMPILER ARGUMENT...: compiles by ccache.
# The output of a header that is precompiled is removed first: while it is there, the compiler reads it in place of the headers when
# ccache asks for their contents, and ccache finds the header of an earlier state of the sources. Such a header is looked up by the
# contents of its sources alone (depend mode): by what the preprocessor prints, one from before a change of a comment would be found,
# and GCC, which compares the sources, would then read them a second time.
set -eu
output= is_header= previous=
for argument; do
  if [ "$previous" = -o ]; then output=$argument; fi
  if [ "$argument" = c++-header ]; then is_header=yes; fi
  previous=$argument
done
if [ -n "$is_header" ]; then
  export CCACHE_DEPEND=1
  if [ -n "$output" ]; then rm -f -- "$output"; fi
fi
exec "$@"

#!/bin/sh
# Compiles the tests of this folder and runs them, and prints a log as litmus7 does.
#
#     sh run.sh [SECONDS] > LOG      SECONDS for each test (@SECONDS@)
#
# CC and CFLAGS say what compiles them (cc, -O2). CFLAGS are for the tests themselves, where these are in C.
# ON names processors, in the order in which threads take them: ON=0,2 sh run.sh
set -eu
cd "$(dirname "$0")"
cc=${CC:-cc}
flags=${CFLAGS:--O2}
each=$(awk "BEGIN { print ${1:-@SECONDS@} / @ENVIRONMENTS@ }")
machine=
case $($cc -dumpmachine) in x86_64*) machine=-mno-red-zone ;; esac
well="-std=gnu11 -O2 -w -fno-strict-aliasing -fomit-frame-pointer -pthread $machine"
$cc $well -c harness.c -o harness.o
$cc $well -c tests.c -o tests.o
objects="harness.o tests.o"
if [ -f bodies.c ]; then
  $cc $flags -w -fno-stack-protector -c bodies.c -o bodies.o
  objects="$objects bodies.o"
fi
$cc $objects -pthread -o tests 2>/dev/null || $cc $objects -pthread -latomic -o tests
$cc $well log.c -o log
status=0
test=0
while [ $test -lt @TESTS@ ]; do
  if ./tests $test $((test + 1)) "$each" 0 environments ${ON:+"$ON"} >counts; then
    ./log $test <counts || status=1
  else
    echo "run.sh: test $test ended with status $?" >&2
    status=1
  fi
  test=$((test + 1))
done
echo "Machine $(uname -m), $(uname -s) $(uname -r)"
echo "Compiler $($cc --version | head -n 1), $flags"
exit $status

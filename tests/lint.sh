#!/bin/sh
# lint.sh: runs cppcheck and clang-tidy over src/, if they are installed. Fails if one reports something.
# LINT='cppcheck' or LINT='clang-tidy' runs only that one.
srcdir=${srcdir:-.}
failed=0
includes="-D_GNU_SOURCE -DLOCALEDIR=\"/\" -DPKGLIBDIR=\"/\" -I$srcdir/src -I$srcdir/include -I."

wanted() { case " ${LINT:-cppcheck clang-tidy} " in *" $1 "*) true ;; *) false ;; esac; }

missing() { echo "lint: $1 is not installed (Debian: $1); skipped"; }

if wanted cppcheck; then
    if command -v cppcheck >/dev/null; then
        cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr \
            --suppressions-list="$srcdir/tests/cppcheck.txt" --error-exitcode=1 \
            --template='{file}:{line}: {severity}: {message} [{id}]' \
            -i "$srcdir/src/engine/devices/cpu" $includes "$srcdir/src" ||
            failed=1
    else
        missing cppcheck
    fi
fi
if wanted clang-tidy; then
    if command -v clang-tidy >/dev/null; then
        # the kernels in devices/cpu are compiled with separate flags
        FLAGS="$includes $CPPFLAGS" && export FLAGS
        find "$srcdir/src" -name '*.c' ! -path '*/devices/cpu/*' |
            xargs -P "$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)" -n 8 sh -c '
            clang-tidy --quiet --warnings-as-errors="*" "$@" -- -std=c11 $FLAGS 2>/dev/null' tidy ||
            failed=1
    else
        missing clang-tidy
    fi
fi
[ $failed = 0 ] && echo "lint: no problems found"
exit $failed

#!/bin/sh
# Two builds in different folders, at different times, in different locales and umasks, have the same bytes: make dist's
# tarball, the program, its modules, and every file that make install installs.
srcdir=$(cd "${srcdir:-.}" && pwd)
. "$srcdir/tests/cli/tap.sh"
cd "$T" || exit 99
if [ ! -x "$srcdir/configure" ]; then
    not_ok "configure" "there is none in $srcdir"
    done_testing
fi
export SOURCE_DATE_EPOCH=1764158400
jobs=$(getconf _NPROCESSORS_ONLN)
options='--without-cuda --prefix=/usr'
mkdir dist_one dist_two_longer
(cd dist_one && umask 022 && "$srcdir/configure" -q $options && make -s dist) >one.log 2>&1
(cd dist_two_longer && umask 077 && TZ=Asia/Kathmandu LC_ALL=C.UTF-8 "$srcdir/configure" -q $options && make -s dist) >two.log 2>&1
one=$(ls "$T"/dist_one/tinca-*.tar.gz 2>/dev/null)
two=$(ls "$T"/dist_two_longer/tinca-*.tar.gz 2>/dev/null)
if [ -n "$one" ] && [ -n "$two" ] && cmp "$one" "$two"; then
    ok "two tarballs have the same bytes"
else
    not_ok "two tarballs have the same bytes" "$(tail -n 3 one.log two.log)"
fi

# build NAME UMASK TIMEZONE: unpacks the tarball into a folder of this name, builds and installs it
build() {
    mkdir -p "$1" && cd "$1" || return 1
    tar xzf "$one" && cd tinca-* || return 1
    (umask "$2" && TZ=$3 ./configure -q $options CFLAGS="${BUILD_CFLAGS:--O2 -g} -ffile-prefix-map=$PWD=." &&
        TZ=$3 make -s -j"$jobs" && umask 022 && make -s install DESTDIR="$T/$1/installed") >../build.log 2>&1
    built=$?
    cd "$T" || exit 99
    return $built
}
if build first 022 UTC && sleep 2 && build a/second/folder 077 America/Sao_Paulo; then
    ok "both build"
else
    not_ok "both build" "$(tail -n 5 first/build.log a/second/folder/build.log)"
fi
(cd first/installed && find . -type f -exec sha256sum {} + | LC_ALL=C sort -k 2) >first.sums
(cd a/second/folder/installed && find . -type f -exec sha256sum {} + | LC_ALL=C sort -k 2) >second.sums
for name in tinca tinca-chart.so tinca-mpi.so tinca.1 tinca.mo; do
    if ! grep -q "/$name$" first.sums; then
        skip "$name" "this build has none"
    elif [ "$(grep "/$name$" first.sums)" = "$(grep "/$name$" second.sums)" ]; then
        ok "$name has the same bytes"
    else
        not_ok "$name has the same bytes" "$(cmp "$(find first/installed -name "$name" | head -n 1)" "$(find a/second -name "$name" | head -n 1)" 2>&1)"
    fi
done
if cmp -s first.sums second.sums && [ "$(wc -l <first.sums)" -gt 40 ]; then
    ok "every installed file has the same bytes"
else
    not_ok "every installed file has the same bytes" "$(diff first.sums second.sums)"
fi
if grep -qa "$T" "$(find first/installed -path '*/bin/tinca')"; then
    not_ok "the program names no folder of its build" "$(strings "$(find first/installed -path '*/bin/tinca')" | grep "$T" | head -n 5)"
else
    ok "the program names no folder of its build"
fi
done_testing

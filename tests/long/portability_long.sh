#!/bin/sh
# Configures and compiles base, data, engine and what builds on them for Linux with musl, FreeBSD and macOS, by zig, which
# carries the C libraries' headers of these systems (pip install ziglang). The headers of the libraries that tinca is
# linked with are those of this system, which are the same everywhere. Nothing is linked or run.
srcdir=$(cd "${srcdir:-.}" && pwd)
. "$srcdir/tests/cli/tap.sh"
for zig in "${ZIG:-}" zig "${PYTHON:-python3} -m ziglang" none; do
    # shellcheck disable=SC2086 # a command of several words
    [ -n "$zig" ] && $zig version >/dev/null 2>&1 && break
done
if [ "$zig" = none ]; then
    skip "compiling for musl, FreeBSD and macOS" "there is no zig here (pip install ziglang, or ZIG='python3 -m ziglang')"
    done_testing
fi
if [ ! -x "$srcdir/configure" ]; then
    not_ok "configure" "there is none in $srcdir"
    done_testing
fi

# the libraries' headers, apart from those of this system's C library
headers=$T/headers
mkdir "$headers"
machine=$(${CC:-cc} -dumpmachine 2>/dev/null | sed 's/-pc-/-/')
for header in cjson png.h pngconf.h pnglibconf.h jpeglib.h jmorecfg.h jerror.h zlib.h zconf.h protobuf-c; do
    [ ! -e "/usr/include/$header" ] || ln -s "/usr/include/$header" "$headers/"
done
[ ! -e "/usr/include/$machine/jconfig.h" ] || ln -s "/usr/include/$machine/jconfig.h" "$headers/"
for folder in $(pkg-config --cflags-only-I openblas | sed 's/-I//g') /usr/include; do
    [ -e "$folder/cblas.h" ] && break
done
for header in cblas.h openblas_config.h; do
    # how OpenBLAS sets affinity depends on the system
    sed '/OPENBLAS_OS_LINUX/s/^#define.*//' "$folder/$header" >"$headers/$header" 2>/dev/null ||
        sed '/OPENBLAS_OS_LINUX/s/^#define.*//' "/usr/include/$machine/$header" >"$headers/$header"
done
cat >"$headers/libintl.h" <<'END'
char *gettext(const char *);
char *dgettext(const char *, const char *);
char *ngettext(const char *, const char *, unsigned long);
char *textdomain(const char *);
char *bindtextdomain(const char *, const char *);
char *bind_textdomain_codeset(const char *, const char *);
END

# compiles TARGET HOST: everything of base, data, engine and what builds on them
compiles() {
    build=$T/$1
    mkdir "$build"
    cat >"$build/cc" <<END
#!/bin/sh
exec $zig cc -target $1 -isystem $headers "\$@"
END
    cat >"$build/ar" <<END
#!/bin/sh
exec $zig ar "\$@"
END
    chmod +x "$build/cc" "$build/ar"
    if ! (cd "$build" && NCURSES_CFLAGS=' ' NCURSES_LIBS=' ' CJSON_CFLAGS=-I"$headers/cjson" CJSON_LIBS=' ' \
        OPENBLAS_CFLAGS=' ' OPENBLAS_LIBS=' ' PNG_CFLAGS=' ' PNG_LIBS=' ' JPEG_CFLAGS=' ' JPEG_LIBS=' ' \
        ZLIB_CFLAGS=' ' ZLIB_LIBS=' ' PROTOBUF_C_CFLAGS=' ' PROTOBUF_C_LIBS=' ' ac_cv_func_dgesdd_=yes \
        ac_cv_search_bindtextdomain='none required' ac_cv_prog_cxx_works=no \
        "$srcdir/configure" -q --host="$2" --without-cuda --without-mpi --without-cairo CC="$build/cc" CXX=false \
        AR="$build/ar" RANLIB=true CFLAGS='-O0 -Wno-format-security -Wno-unknown-warning-option -Wno-unterminated-string-initialization' >"$build/log" 2>&1); then
        not_ok "$1: configure" "$(tail -n 5 "$build/log"; grep error: "$build/config.log" | tail -n 5)"
        return
    fi
    ok "$1: configure"
    printf 'include Makefile\nbuilt-sources: $(BUILT_SOURCES)\n' >"$build/built.mk"
    (cd "$build" && make -s -f built.mk built-sources && make -k -j"$(getconf _NPROCESSORS_ONLN)" \
        libbase.a libdata.a libengine.a libkernels_generic.a libruns.a libmodels.a \
            libtraining.a libexchange.a libstudies.a >make.log 2>&1)
    status=$?
    errors=$(grep -E 'error:|warning:|\*\*\*' "$build/make.log")
    if [ "$status" = 0 ] && [ "$(find "$build/src" -name '*.o' | wc -l)" -gt 450 ]; then
        ok "$1: base, data, engine and what builds on them compile"
    else
        not_ok "$1: base, data, engine and what builds on them compile" "$errors"
    fi
    found=$(printf '%s\n' "$errors" | grep -v 'PROTOC\|pb-c')
    if [ -z "$found" ]; then ok "$1: without a warning"; else not_ok "$1: without a warning" "$found"; fi
}
for target in ${TARGETS:-x86_64-linux-musl x86_64-freebsd aarch64-macos}; do
    case $target in
    *musl) compiles "$target" x86_64-pc-linux-musl ;;
    *freebsd) compiles "$target" x86_64-unknown-freebsd14 ;;
    *macos) compiles "$target" aarch64-apple-darwin23 ;;
    esac
done
done_testing

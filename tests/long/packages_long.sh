#!/bin/sh
# The packages: debian/ builds and is clean for lintian, the package installs what it should; the recipes for Spack, Guix
# and Nix are read by their languages' readers; AppStream's and the desktop's entries are valid; the scripts of the build
# run in dash. DEBS_FOLDER names a folder with packages that are built already.
srcdir=$(cd "${srcdir:-.}" && pwd)
. "$srcdir/tests/cli/tap.sh"
cd "$T" || exit 99
recipes=$srcdir/contrib/packages

# checks NAME TOOL COMMAND...: the command succeeds, if its tool is here
checks() {
    name=$1 tool=$2
    shift 2
    if ! command -v "$tool" >/dev/null; then
        skip "$name" "there is no $tool here"
    elif "$@" >log 2>&1; then
        ok "$name"
    else
        not_ok "$name" "$(cat log)"
    fi
}
checks "Spack's recipe is Python" python3 python3 -c "compile(open('$recipes/spack/tinca/package.py').read(), 'package.py', 'exec')"
checks "Guix's recipe is Scheme" guile guile --no-auto-compile -c "(for-each (lambda (sign) (read-hash-extend sign (lambda (c port) (read port)))) (list #\\~ #\\$ #\\+)) (call-with-input-file \"$recipes/guix.scm\" (lambda (port) (let loop () (if (not (eof-object? (read port))) (loop)))))"
checks "Nix' recipe is an expression" nix-instantiate nix-instantiate --parse "$recipes/default.nix"
checks "the entry of the menu" desktop-file-validate desktop-file-validate "$srcdir/contrib/desktop/tinca.desktop"
checks "the entry of software centres" appstreamcli appstreamcli validate --no-net --pedantic "$srcdir/contrib/desktop/org.tinca.tinca.metainfo.xml"
for script in "$srcdir"/src/base/builtin_texts.sh "$srcdir"/src/cli/build_commit.sh "$srcdir"/po/extract.sh \
    "$srcdir"/bootstrap "$srcdir"/contrib/container/make.sh "$srcdir"/datasets/fetch.sh; do
    checks "${script##*/} is read by dash" dash dash -n "$script"
done
version=$("$TINCA" --version | sed -n '1s/^tinca //p')
for file in "$recipes/spack/tinca/package.py" "$recipes/guix.scm" "$recipes/default.nix" "$srcdir/debian/changelog" \
    "$srcdir/contrib/desktop/org.tinca.tinca.metainfo.xml"; do
    if grep -q "[\"(]$version[\")]" "$file"; then ok "${file##*/} has the version $version"; else not_ok "${file##*/} has the version $version"; fi
done

for tool in dpkg-buildpackage dh lintian; do
    command -v $tool >/dev/null || missing="${missing-}$tool "
done
if [ -n "${missing-}" ]; then
    skip "packages for Debian" "there is no ${missing% } here"
    done_testing
fi
if [ -z "${DEBS_FOLDER-}" ]; then
    mkdir -p build/source && (cd "$srcdir" && tar cf - --exclude=.git --exclude='*.o' --exclude='*.a' .) | tar xf - -C build/source
    rm -f build/source/Makefile build/source/config.status
    (cd build/source && dpkg-checkbuilddeps) >log 2>&1 || {
        skip "packages for Debian" "$(head -n 1 log)"
        done_testing
    }
    (cd build/source && dpkg-buildpackage -us -uc -b) >log 2>&1
    status=$?
    if [ $status = 0 ]; then ok "debian/ builds"; else not_ok "debian/ builds" "$(tail log)"; fi
    DEBS_FOLDER=$T/build
fi
lintian --pedantic --tag-display-limit 0 "$DEBS_FOLDER"/*.changes >lintian 2>&1
found=$(grep '^[EW]:' lintian)
if [ -z "$found" ] && ls "$DEBS_FOLDER"/tinca_*.changes >/dev/null 2>&1; then ok "lintian finds no error and warns of nothing"; else not_ok "lintian finds no error and warns of nothing" "$found"; fi
dpkg-deb -c "$DEBS_FOLDER"/tinca_*.deb | awk '{ print $6 }' >files
for file in usr/bin/tinca usr/share/man/man1/tinca.1.gz usr/share/man/man1/tinca-train.1.gz \
    usr/share/man/man7/tinca-data.7.gz usr/share/bash-completion/completions/tinca \
    usr/share/zsh/vendor-completions/_tinca usr/share/fish/vendor_completions.d/tinca.fish \
    usr/share/applications/tinca.desktop usr/share/icons/hicolor/scalable/apps/tinca.svg \
    usr/share/metainfo/org.tinca.tinca.metainfo.xml usr/share/locale/pt_BR/LC_MESSAGES/tinca.mo; do
    if grep -qx "./$file" files; then ok "tinca has $file"; else not_ok "tinca has $file"; fi
done
if dpkg-deb -c "$DEBS_FOLDER"/tinca-mpi_*.deb | grep -q 'tinca/tinca-mpi.so$'; then ok "tinca-mpi has the module"; else not_ok "tinca-mpi has the module"; fi
dpkg-deb -c "$DEBS_FOLDER"/libtinca1_*.deb >files
if grep -q 'libtinca.so.1.0.0$' files; then ok "libtinca1 has the shared library"; else not_ok "libtinca1 has the shared library"; fi
dpkg-deb -c "$DEBS_FOLDER"/libtinca-dev_*.deb | awk '{ print $6 }' >files
for file in include/tinca.h share/man/man3/libtinca.3.gz share/doc/libtinca-dev/examples/classify.c; do
    if grep -qx "./usr/$file" files; then ok "libtinca-dev has $file"; else not_ok "libtinca-dev has $file"; fi
done
if grep -q 'libtinca.a$' files && grep -q 'pkgconfig/libtinca.pc$' files; then
    ok "libtinca-dev has the static library and pkg-config's file"
else
    not_ok "libtinca-dev has the static library and pkg-config's file"
fi
done_testing

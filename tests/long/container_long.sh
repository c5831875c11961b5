#!/bin/sh
# contrib/container/make.sh: the image of debootstrap and Debian's packages of tinca is unpacked again, and its program
# prints its version, trains, and draws a chart. DEBS='tinca.deb tinca-mpi.deb' names packages that are built already.
srcdir=$(cd "${srcdir:-.}" && pwd)
. "$srcdir/tests/cli/tap.sh"
for tool in debootstrap umoci skopeo dpkg-buildpackage dh chroot; do
    command -v $tool >/dev/null || missing="${missing-}$tool "
done
if [ -n "${missing-}" ]; then
    skip "a container" "there is no ${missing% } here"
    done_testing
elif [ "$(id -u)" != 0 ]; then
    skip "a container" "debootstrap needs root"
    done_testing
fi
cd "$T" || exit 99
if [ -z "${DEBS-}" ]; then
    mkdir source && (cd "$srcdir" && tar cf - --exclude=.git --exclude='*.o' --exclude='*.a' .) | tar xf - -C source
    (cd source && rm -f Makefile config.status && DEB_BUILD_OPTIONS=nocheck dpkg-buildpackage -us -uc -b) >debs.log 2>&1 ||
        not_ok "the packages" "$(tail debs.log)"
    DEBS=$(ls "$T"/tinca_*.deb "$T"/tinca-mpi_*.deb)
fi
# shellcheck disable=SC2086 # a list
if sh "$srcdir/contrib/container/make.sh" $DEBS image.tar >make.log 2>&1; then
    ok "the image is made"
elif grep -q 'Failed getting release file\|Unable to\|Couldn.t download' make.log; then
    skip "the image" "the mirror of Debian cannot be reached"
    done_testing
else
    not_ok "the image is made" "$(tail make.log)"
    done_testing
fi
skopeo copy oci-archive:image.tar oci:layout:latest >copy.log 2>&1 && umoci unpack --image layout:latest bundle >>copy.log 2>&1
root=bundle/rootfs
if [ -x $root/usr/bin/tinca ]; then ok "it can be unpacked"; else not_ok "it can be unpacked" "$(tail copy.log)"; fi
inside() { chroot $root su tinca -c "cd && $*"; }
if inside tinca --version | grep -q '^tinca [0-9]'; then ok "its program runs"; else not_ok "its program runs"; fi
if inside tinca train lenet --data digits,limit=200 --batch 20 --epochs 1 --threads 1 --name first -q; then ok "it trains"; else not_ok "it trains"; fi
if inside tinca export first --format png -o curves.png && [ -s $root/home/tinca/curves.png ]; then ok "it draws"; else not_ok "it draws"; fi
if skopeo inspect --config oci-archive:image.tar | grep -q '/usr/bin/tinca'; then ok "tinca is its entry"; else not_ok "tinca is its entry"; fi
if [ ! -e $root/usr/bin/gcc ] && [ ! -e $root/usr/include/png.h ]; then ok "it has nothing to build with"; else not_ok "it has nothing to build with"; fi
done_testing

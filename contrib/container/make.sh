#!/bin/sh
# Makes a container image that has tinca and the libraries that it needs, and nothing to build it with, from Debian's
# packages by debootstrap: make.sh PACKAGE.deb... IMAGE.tar. The packages are those of dpkg-buildpackage -b: tinca,
# and if wanted tinca-mpi. IMAGE.tar is an OCI archive: podman load -i IMAGE.tar, docker load -i IMAGE.tar,
# skopeo copy oci-archive:IMAGE.tar ... Needs root, debootstrap, umoci and skopeo.
# SUITE (bookworm), MIRROR (http://deb.debian.org/debian) and ROOTFS, a folder that is to be kept, can be set.
set -eu
fail() {
    echo "make.sh: $*" >&2
    exit 1
}
[ $# -ge 2 ] || fail "usage: make.sh PACKAGE.deb... IMAGE.tar"
for tool in debootstrap umoci skopeo dpkg-deb; do
    command -v "$tool" >/dev/null || fail "$tool is missing (Debian: apt-get install $tool)"
done
[ "$(id -u)" = 0 ] || fail "debootstrap needs root"
packages=
while [ $# -gt 1 ]; do
    [ -f "$1" ] || fail "$1: there is no such package"
    packages="$packages $(realpath "$1")"
    shift
done
image=$(realpath -m "$1")
suite=${SUITE:-bookworm}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rootfs=${ROOTFS:-$work/rootfs}
# what the packages need, the packages themselves apart
depends=$(for package in $packages; do
    dpkg-deb -f "$package" Depends | tr ',' '\n' | sed 's/|.*//; s/(.*//; s/ //g'
done | sort -u | grep -vx 'tinca' | paste -sd, -)

debootstrap --variant=minbase --include="$depends,fonts-dejavu-core,ncurses-term" "$suite" "$rootfs" \
    "${MIRROR:-http://deb.debian.org/debian}"
mkdir -p "$rootfs/tmp/packages"
# shellcheck disable=SC2086 # paths without blanks
cp $packages "$rootfs/tmp/packages"
chroot "$rootfs" sh -c 'dpkg -i /tmp/packages/*.deb'
# what no container needs: lists and caches of apt, logs, other languages' messages and manuals of other packages
rm -rf "$rootfs/tmp/packages" "$rootfs"/var/cache/apt/* "$rootfs"/var/lib/apt/lists/* "$rootfs"/var/log/* \
    "$rootfs"/var/cache/ldconfig/* "$rootfs"/var/cache/debconf/*-old
find "$rootfs/usr/share/doc" -mindepth 1 -maxdepth 1 ! -name 'tinca*' -exec rm -rf {} +
find "$rootfs/usr/share/locale" -mindepth 1 -maxdepth 1 ! -name 'pt_BR*' -exec rm -rf {} +
chroot "$rootfs" useradd --create-home --uid 1000 --shell /bin/bash tinca

umoci init --layout "$work/oci"
umoci new --image "$work/oci:latest"
umoci unpack --image "$work/oci:latest" "$work/bundle"
cp -a "$rootfs/." "$work/bundle/rootfs/"
umoci repack --image "$work/oci:latest" "$work/bundle"
umoci config --image "$work/oci:latest" --config.entrypoint /usr/bin/tinca --config.user tinca \
    --config.workingdir /home/tinca --config.env LANG=C.UTF-8 --config.env TERM=xterm-256color \
    --author 'the tinca authors' --config.label 'org.opencontainers.image.title=tinca' \
    --config.label "org.opencontainers.image.version=$(chroot "$rootfs" dpkg-query -W -f '${Version}' tinca)"
rm -f "$image"
skopeo copy "oci:$work/oci:latest" "oci-archive:$image:tinca:latest"
echo "$image: load it with podman load -i, or skopeo copy oci-archive:"

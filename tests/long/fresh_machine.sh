#!/bin/sh
# The README's two commands on machines that have only git: each is a bare Debian that debootstrap makes from
# the mirror of this machine's apt. Needs root.
#
#   fresh_machine.sh [RELEASE]   Debian 12 and 13, or this one: ./bootstrap run and the whole of
#                                ./bootstrap check; run and a few tests as an ordinary user with
#                                sudo, in a clone and in an unpacked release
#   fresh_machine.sh --smoke     Debian 12: run, and a few tests of check, as root (.ci/run)
. "${srcdir:-.}/tests/ui/screen.sh"
srcdir=$(cd "${srcdir:-.}" && pwd)
case ${1-} in
--smoke) RELEASES=bookworm ;;
*) RELEASES=${1:-bookworm trixie} ;;
esac
FEW="tests/ui/terminal_test.sh tests/ui/study_test.sh tests/cli/manual_test.sh tests/cli/attach_test.sh \
tests/check_test.sh series_test"
# The reasons for which tests are skipped on a bare machine; the README lists them. In root's home no other user
# can run the program, and root can write to files without write permission.
LACKS='TINCA_DATA|no NVIDIA|CUDA|GPU|driver|munged|clang-format|libFuzzer|no other user|root writes|root may write'
INSTALLING=18000 # tenths of a second in which it installs and builds
PATIENCE=1200 PATIENCE_AFTER_FAILURE=1200

for program in debootstrap unshare tmux git; do
    command -v $program >/dev/null && continue
    skip "a fresh machine" "there is no $program here"
    done_testing
done
if [ "$(id -u)" != 0 ] || ! unshare --mount --pid --fork true 2>/dev/null; then
    skip "a fresh machine" "only root may make one"
    done_testing
elif ! git -C "$srcdir" rev-parse --git-dir >/dev/null 2>&1; then
    skip "a fresh machine" "this is no clone"
    done_testing
fi

# --- machines ---

# The mirror of this machine's Debian packages; without one debootstrap uses its default.
mirror=$(apt-get indextargets --format '$(ORIGIN) $(LABEL) $(REPO_URI)' 'Created-By: Packages' |
    sed -n 's/^Debian Debian //p' | head -n 1)
eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)"
export http_proxy https_proxy

# make_machine RELEASE: makes $T/RELEASE, with git and this machine's proxy settings
make_machine() {
    debootstrap --variant=minbase --include=git "$1" "$T/$1" ${mirror:+"$mirror"} >"$T/$1.log" 2>&1 ||
        return 1
    apt-config dump | grep -i '^Acquire::.*Proxy' >"$T/$1/etc/apt/apt.conf.d/90proxy" || :
    echo force-unsafe-io >"$T/$1/etc/dpkg/dpkg.cfg.d/unsafe" # no need to sync
}

# enter MACHINE USER COMMAND: runs the command as on a separate machine, whose processes end with it. The
# environment is that of a login.
cat >"$T/enter" <<'ENTER'
#!/bin/sh
machine=$1
mount --make-rprivate /
mount -t proc proc "$machine/proc"
mount -t tmpfs tmpfs "$machine/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$machine/dev/pts"
ln -sf pts/ptmx "$machine/dev/ptmx"
home=/root
[ "$2" = root ] || home=/home/$2
exec chroot "$machine" env -i LC_ALL=C.UTF-8 TERM=screen-256color HOME="$home" LOGNAME="$2" \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin ${SMOKE_CFLAGS:+CFLAGS="$SMOKE_CFLAGS"} \
    setpriv --reuid="$2" --regid="$2" --init-groups sh -c "cd $home/tinca && $3"
ENTER
inside() { unshare --mount --pid --fork --kill-child sh "$T/enter" "$@"; }

# put_clone MACHINE USER: copies the tracked files
put_clone() {
    home=$1/root
    [ "$2" = root ] || home=$1/home/$2
    mkdir -p "$home/tinca"
    git -C "$srcdir" ls-files -z | tar -C "$srcdir" --null -T - -c | tar -C "$home/tinca" -x --no-same-owner
    [ "$2" = root ] || chroot "$1" chown -R "$2:" "/home/$2/tinca"
}

# put_user MACHINE: adds the user ana, who may use sudo
put_user() {
    mkdir -p "$1/root/tinca"
    inside "$1" root 'apt-get install -qq -y --no-install-recommends sudo && useradd -m -s /bin/sh ana &&
        echo "ana ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/ana' >>"$T/put_user.log" 2>&1 </dev/null
}

# --- the two commands ---

# runs MACHINE USER NAME: ./bootstrap run, until a run has trained for a while; fails if there was none
runs() {
    screen_start 100x30 C.UTF-8 unshare --mount --pid --fork --kill-child sh "$T/enter" "$1" "$2" \
        './bootstrap run; echo "status $?"; sleep 100000'
    (
        PATIENCE=$INSTALLING PATIENCE_AFTER_FAILURE=$INSTALLING
        screen_wait 'What it takes|status [0-9]'
    )
    if ! seen 'What it takes'; then
        not_ok "$3: run opens the workbench" "$(screen_text)"
        screen_end
        return 1
    fi
    ok "$3: run opens the workbench"
    screen_keys r
    screen_shows 'iteration +[1-9][0-9]* of' "$3: r trains"
    screen_keys s
    screen_wait 'Stop the run'
    screen_keys n
    screen_shows 'stopped after' "$3: the run is stopped"
    screen_keys q q
    screen_shows 'status 0' "$3: it ends with status 0"
    screen_end
}

# checks MACHINE USER NAME [TEST...]: runs ./bootstrap check
checks() {
    machine=$1 user=$2 name=$3
    shift 3
    log=$T/check.log
    if inside "$machine" "$user" "./bootstrap check $*" >"$log" 2>&1 </dev/null; then
        ok "$name: check passes"
    else
        not_ok "$name: check passes" "$(tail -n 200 "$log")"
    fi
    sed -n '/^skipped, with the reason/,$p; s/^# [A-Z]*: *[1-9]/&/p' "$log" | sed 's/^/# /'
    others=$(sed '1,/^skipped, with the reason/d' "$log" | grep -Ev "$LACKS|^bootstrap:")
    if [ -z "$others" ]; then ok "$name: only the documented tests are skipped"; else
        not_ok "$name: only the documented tests are skipped" "$others"
    fi
    if inside "$machine" "$user" '! command -v munged || ! command -v slurmd' >/dev/null 2>&1; then
        ok "$name: no daemon was installed"
    else
        not_ok "$name: no daemon was installed"
    fi
}

for release in $RELEASES; do
    if ! make_machine "$release"; then
        skip "$release" "it cannot be had here: $(tail -n 1 "$T/$release.log")"
        continue
    fi
    if [ "${1-}" = --smoke ]; then
        put_clone "$T/$release" root
        export SMOKE_CFLAGS=-O0
        # shellcheck disable=SC2086 # a list of tests
        runs "$T/$release" root "$release" && checks "$T/$release" root "$release" $FEW
        continue
    fi
    cp -a "$T/$release" "$T/root"
    put_clone "$T/root" root
    runs "$T/root" root "$release"
    checks "$T/root" root "$release"
    inside "$T/root" root 'make -s -C build dist' >"$T/dist.log" 2>&1 </dev/null
    put_user "$T/$release"
    cp -a "$T/$release" "$T/user"
    put_clone "$T/user" ana
    runs "$T/user" ana "$release, a user with sudo"
    # shellcheck disable=SC2086 # a list of tests
    checks "$T/user" ana "$release, a user with sudo" $FEW
    rm -rf "$T/user"
    # without git and the autotools
    mkdir "$T/$release/home/ana/tinca"
    tar -C "$T/$release/home/ana/tinca" --strip-components=1 -xf "$T"/root/root/tinca/build/tinca-*.tar.gz
    chroot "$T/$release" chown -R ana: /home/ana/tinca
    inside "$T/$release" root 'dpkg -r git' >>"$T/put_user.log" 2>&1
    runs "$T/$release" ana "$release, a release"
    # shellcheck disable=SC2086 # a list of tests
    checks "$T/$release" ana "$release, a release" $FEW
    if inside "$T/$release" ana 'command -v autoreconf || command -v git' >/dev/null; then
        not_ok "$release, a release: neither autoconf nor git is needed"
    else
        ok "$release, a release: neither autoconf nor git is needed"
    fi
    rm -rf "$T/root" "${T:?}/$release"
done
done_testing

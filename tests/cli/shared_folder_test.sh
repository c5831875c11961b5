#!/bin/sh
# Folders of runs that other users own or can write to are refused with the reason, unless the setting
# shared-runs allows them.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
cd "$T" || exit 99
umask 022
unset SUDO_UID
job="lenet --data digits,limit=40 --batch 20 --iterations 2 --threads 1 -q"
home=$XDG_STATE_HOME/tinca/runs

share() { mkdir -p "$XDG_CONFIG_HOME/tinca" && echo "{\"shared-runs\": $1}" >"$XDG_CONFIG_HOME/tinca/config.json"; }

# A group other than the private group of the folder's owner. Without root it must be one of the caller's
# groups, and may be missing.
own=$(id -un)
foreign=$(id -Gn | tr ' ' '\n' | grep -vx "$own" | head -n 1)
if [ "$(id -u)" = 0 ]; then foreign=$(id -gn nobody); fi

# every STATUS PATTERN WHAT: each command that opens the run $id ends so
every() {
    refuses "$1" "$2" "resume, $3" resume "$id"
    refuses "$1" "$2" "export, $3" export "$id" -o x.json
    refuses "$1" "$2" "attach, $3" attach "$id" -q
    refuses "$1" "$2" "by its path, $3" export "$home/$id" -o x.json
}

# every_accepts WHAT: each command accepts the run
every_accepts() {
    refuses 2 'complete' "resume, $1" resume "$id"
    succeeds "export, $1" export "$id" -o x.json
    succeeds "attach, $1" attach "$id" -q
}

# listed PATTERN WHAT: the list has the reason for the run, and the other run
listed() {
    run runs
    if [ "$status" = 0 ] && grep -Eq "^$id .*unreadable.*$1" out && grep -q "^$other .*done" out; then
        ok "the list, $2"
    else
        not_ok "the list, $2" "exit $status: $(cat out err)"
    fi
    run runs --check
    if [ "$status" = 1 ] && grep -q "^$id: its folder: " out && ! grep -q "^$other: its folder" out; then
        ok "runs --check, $2"
    else
        not_ok "runs --check, $2" "exit $status: $(cat out err)"
    fi
}

# closed PATTERN WHAT: the folder of all runs is refused
closed() {
    refuses 1 "$1" "the folder of runs, $2" runs
    refuses 1 "$1" "resume within it, $2" resume "$id"
    # shellcheck disable=SC2086 # a list of options
    refuses 1 "$1" "a new run in it, $2" train $job
}

# wanted STATUS WHAT: tries to make a new run in the folder "new"
wanted() {
    # shellcheck disable=SC2086 # a list of options
    if [ "$1" = 0 ]; then succeeds "--run-dir, $2" train $job --run-dir new; else
        refuses "$1" "$3" "--run-dir, $2" train $job --run-dir new
    fi
    rm -rf new
}

# shellcheck disable=SC2086 # a list of options
{
    succeeds "a run" train $job
    succeeds "and another" train $job
}
for folder in "$home"/*; do other=${id-} id=${folder##*/}; done
every_accepts "with correct permissions"

# --- folders that everybody can write to ---
chmod o+w "$home/$id"
every 1 "others may write into it: chmod o-w .*$id" "o+w"
listed 'others may write' "o+w"
share true
every 1 'others may write into it' "o+w, also with shared-runs"
share false
chmod o-w "$home/$id"
ln -s "$home/$id" link
chmod 1777 "$home/$id"
refuses 1 'others may write' "o+w through a link, with the sticky bit" export ./link -o x.json
chmod 700 "$home/$id"
chmod o+w "$home"
closed 'others may write into it' "o+w"
chmod 700 "$home"
mkdir -m 777 new
wanted 1 "o+w" 'others may write'
mkdir new
wanted 0 "a folder with correct permissions"
mkdir -m 777 "$XDG_STATE_HOME/tinca/sweeps"
chmod 777 "$XDG_STATE_HOME/tinca/sweeps"
refuses 1 'others may write' "sweeps, o+w" sweep --list
rmdir "$XDG_STATE_HOME/tinca/sweeps"

# --- folders that the group can write to ---
if [ -n "$foreign" ]; then
    chgrp "$foreign" "$home/$id"
    chmod 770 "$home/$id"
    every 1 'its group may write into it: chmod g-w .*shared-runs' "g+w"
    listed 'its group may write' "g+w"
    share true
    every_accepts "g+w, with shared-runs"
    share false
    chmod 700 "$home/$id"
    mkdir new
    chgrp "$foreign" new
    chmod g+w new
    wanted 1 "g+w" 'its group may write'
else
    skip "g+w" "there is no second group"
fi
if [ "$(id -gn)" = "$own" ] && [ -z "$(getent group "$own" | cut -d: -f4)" ]; then
    mkdir new
    chmod 775 new
    wanted 0 "g+w, the user's private group"
else
    skip "g+w, a private group" "the user has none"
fi

# --- folders of another user ---
if [ "$(id -u)" = 0 ] && chown nobody "$home/$id" 2>/dev/null; then
    chgrp "$foreign" "$home/$id"
    every 1 'belongs to another user \(nobody\): take it over' "of another user"
    listed 'belongs to another user \(nobody\)' "of another user"
    share true
    every 1 'belongs to another user' "of another user and of a group that is not the caller's"
    chgrp "$(id -g)" "$home/$id"
    every_accepts "of another user and the caller's group, with shared-runs"
    chmod o+w "$home/$id"
    every 1 'others may write' "of another user, o+w, with shared-runs"
    chmod 700 "$home/$id"
    share false
    SUDO_UID=$(id -u nobody) && export SUDO_UID
    every_accepts "of the caller of sudo"
    export SUDO_UID="$((SUDO_UID - 1))"
    every 1 'belongs to another user' "of a user other than the caller of sudo"
    unset SUDO_UID
    chown "$(id -u)" "$home/$id"
    chown nobody "$home"
    closed 'belongs to another user' "of another user"
    chown "$(id -u)" "$home"
    mkdir new
    chown nobody new
    wanted 1 "of another user" 'belongs to another user'
else
    skip "another user" "only root can give folders away"
fi
every_accepts "with correct permissions once more"
done_testing

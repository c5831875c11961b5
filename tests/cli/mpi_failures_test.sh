#!/bin/sh
# What one rank alone cannot read or write: a picture, its data set, its disk, or a file of a server that does not
# answer. All ranks end, within seconds and with the reason, the rank and its host, the last checkpoint stays valid, and
# the run resumes to the bits of an undisturbed one.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/cli/mpi.sh"
. "$srcdir/tests/faults/hold.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
MAKE_PICTURE=$(dirname "$TINCA")/make_picture
need_mpi "ranks that cannot read or write"
cd "$T" || exit 99

# in_folders NAME FOLDER FOLDER OPTION...: two processes in these folders train the run NAME
in_folders() {
    run_name=$1 first=$2 second=$3
    shift 3
    status=0
    mpirun -n 1 -wdir "$T/$first" "$TINCA" train "$@" --run-dir "$T/$run_name" : \
        -n 1 -wdir "$T/$second" "$TINCA" train "$@" --run-dir "$T/$run_name" >"$T/out" 2>"$T/err" </dev/null || status=$?
}
# refused PATTERN NAME: the last run has failed with a message that matches, and no process is left
refused() {
    if [ "$status" != 0 ] && grep -Eq -- "$1" "$T/err"; then ok "$2"; else not_ok "$2" "exit $status: $(told)"; fi
    if wait_until none_left "$run_name"; then ok "  and no process is left"; else
        not_ok "  and no process is left" "$(ps -eo pid,ppid,stat,args | grep '[t]inca train')"
    fi
}

# --- pictures ---
# Each process sees the set in its own folder: /proc/self/cwd.

for class in a b; do
    mkdir -p here/$class
    case $class in a) size="28 28" ;; b) size="40 31" ;; esac
    # shellcheck disable=SC2086 # width and height
    "$MAKE_PICTURE" interlaced $size here/$class/1.png || exit 99
    for i in 2 3 4 5 6 7 8; do cp here/$class/1.png here/$class/$i.png; done
done
bytes=$(wc -c <here/a/3.png)
# broken FOLDER FILE BYTES: FOLDER has the pictures of `here`, but only so many bytes of FILE
broken() {
    cp -r here "$1"
    head -c "$3" "here/$2" >"$1/$2"
}
broken cut a/3.png $((bytes / 2)) # its header is whole
broken headless a/3.png 20        # is left out when the set is opened
broken both a/3.png 20
cp -r here other
mv other/b/3.png other/b/30.png
mkdir nothing
job="lenet --batch 4 --epochs 6 --seed 3 --blocks 2 --threads 1 -q"
folder="$job --data folder:/proc/self/cwd"
# shellcheck disable=SC2086 # lists of options
{
    in_folders readable here here $folder
    [ "$status" = 0 ] && ok "two folders that are alike" || not_ok "two folders that are alike" "$(told)"
    in_folders broken-1 here cut $folder
    refused 'rank 1 on [^:]*: .*a/3\.png: ' "a picture that rank 1 cannot read ends all"
    in_folders broken-0 cut here $folder
    refused 'rank 0 on [^:]*: .*a/3\.png: ' "one that rank 0 cannot read"
    in_folders headless-1 here headless $folder
    refused 'rank 1 on [^:]*: images in the training set: 15, but 16 on rank 0.*left out.*a/3\.png' \
        "a picture that rank 1 leaves out"
    in_folders headless-0 headless here $folder
    refused 'rank 1 on [^:]*: images in the training set: 16, but 15 on rank 0.*left out.*a/3\.png' \
        "one that rank 0 leaves out"
    in_folders other-1 here other $folder
    refused "rank 1 on [^:]*: the checksum of the training set's files and labels" "files of other names"
    in_folders nothing-1 here nothing $folder
    refused 'rank 1 on [^:]*: /proc/self/cwd: ' "rank 1 has no pictures"
    in_folders nothing-0 nothing here $folder
    refused 'rank 0 on [^:]*: /proc/self/cwd: ' "rank 0 has no pictures"
    in_folders nothing-2 nothing nothing $folder
    refused "^tinca: /proc/self/cwd: " "no rank has pictures"

    in_folders both headless both $folder
    [ "$status" = 0 ] && ok "both leave the same picture out" || not_ok "both leave the same picture out" "$(told)"
    run train $job --data "folder:$T/cut" --run-dir "$T/skips"
    [ "$status" = 0 ] && ok "one process takes the next picture" || not_ok "one process takes the next picture" "$(told)"

    in_folders invalid-1 here cut $job --data digits,limit=16 --validate folder:/proc/self/cwd,classes=10 --blocks 2
    [ "$status" = 0 ] && ok "a validation of one batch" || not_ok "a validation of one batch" "$(told)"
    in_folders invalid-0 cut here $job --data digits,limit=16 --validate folder:/proc/self/cwd,classes=10 --blocks 2
    refused 'rank 0 on [^:]*: .*a/3\.png: ' "a picture of the validation that rank 0 cannot read"
}

# --- disks ---

if [ ! -e "$HOLD_LIBRARY" ]; then
    skip "a disk that refuses" "this build has no faults.so"
    done_testing
fi
long="lenet --data digits,limit=400 --batch 20 --iterations 100 --seed 3 --blocks 4 --threads 1 -q"
often="--checkpoint 0.02 --checkpoint-share 100"

# disk NAME PATTERN FAULT [VARIABLE]: a call of rank 0 fails, which ends all ranks with a message that matches, soon
disk() {
    run_name=$1
    began=$(date +%s)
    status=0
    # shellcheck disable=SC2086 # lists of options
    mpirun -n 1 -x LD_PRELOAD="$HOLD_LIBRARY" -x FAULT="$3" ${4:+-x "$4"} \
        -x ASAN_OPTIONS="verify_asan_link_order=0:${ASAN_OPTIONS-}" \
        "$TINCA" train $long $often --run-dir "$T/$1" : \
        -n 1 "$TINCA" train $long $often --run-dir "$T/$1" >"$T/out" 2>"$T/err" </dev/null || status=$?
    refused "rank 0 on [^:]*: [^:]*$2" "$1: a disk that refuses ends all ranks"
    seconds=$(($(date +%s) - began))
    if [ $seconds -le 60 ]; then ok "  within seconds"; else not_ok "  within seconds" "$seconds"; fi
    if [ ! -e "$1/weights.safetensors" ]; then ok "  long before its end"; else not_ok "  long before its end" "$(ls "$1")"; fi
    succeeds "  and leaves a valid run" runs --check "$T/$1"
}
# resumed NAME RANKS: it goes on to the bits of the undisturbed run
resumed() {
    if [ "$2" = 1 ]; then run resume "$T/$1" -q --checkpoint 60; else mpi "$2" resume "$T/$1" -q --checkpoint 60; fi
    same "$1: $2 ranks resume it to the same bits" whole "$1"
}
# shellcheck disable=SC2086 # a list of options
run train $long --run-dir "$T/whole"
disk full 'checkpoint.safetensors.*No space left on device' write:50:ENOSPC FAULT_ONLY=checkpoint
if [ -s full/checkpoint.safetensors ]; then ok "  and the checkpoint before"; else not_ok "  and the checkpoint before" "$(ls full)"; fi
resumed full 1
disk renamed 'checkpoint.*Input/output error' rename:5:EIO+ FAULT_ONLY=checkpoint
resumed renamed 4
disk records 'journal: .*Disk quota exceeded' write:3:EDQUOT+ FAULT_ONLY=journal
resumed records 2

# --- ranks that hang while their processes live ---
# One opens a file, or renames it, and the call never returns; only SIGKILL ends that process.

hanging="lenet --data folder:$T/here --batch 4 --epochs 30 --seed 3 --blocks 2 --threads 1 -q"
# hung NAME RANK PATTERN SECONDS FAULT PART SHARED: a call of this rank on files whose path has PART never returns, which
# ends all ranks with a message that matches, soon after so many seconds
hung() {
    run_name=$1 rank=$2 limit=$4
    fault="-x LD_PRELOAD=$HOLD_LIBRARY -x FAULT=$5:hang -x FAULT_ONLY=$6 -x ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS-}"
    first="" second=""
    case $rank in 0) first=$fault ;; 1) second=$fault ;; esac
    began=$(date +%s)
    status=0
    # shellcheck disable=SC2086 # lists of options
    TINCA_HANG=$limit TINCA_SHARED_MEMORY=$7 mpirun -n 1 $first "$TINCA" train $hanging $often --run-dir "$T/$1" : \
        -n 1 $second "$TINCA" train $hanging $often --run-dir "$T/$1" >"$T/out" 2>"$T/err" </dev/null || status=$?
    refused "rank $rank on [^:]*: iteration [0-9]*: it hangs: for [0-9]* seconds it has been $3" "$1: a rank that hangs ends all"
    seconds=$(($(date +%s) - began))
    if [ $seconds -le 60 ]; then ok "  within seconds"; else not_ok "  within seconds" "$seconds"; fi
    if [ ! -e "$1/weights.safetensors" ]; then ok "  long before its end"; else not_ok "  long before its end" "$(ls "$1")"; fi
    succeeds "  and leaves a valid run" runs --check "$T/$1"
    mpi 2 resume "$T/$1" -q --checkpoint 60
    same "  which resumes to the same bits" undisturbed "$1"
}
# shellcheck disable=SC2086 # a list of options
run train $hanging --run-dir "$T/undisturbed"
hung reading-1 1 "reading its images" 3 read:8 a/3.png 1
hung reading-0 0 "reading its images" 3 read:8 a/3.png 0
hung beginning-1 1 "reading its images" 3 read:4 a/3.png 1 # the first that is not the set's opening
hung saving-0 0 "writing files of the run" 1 rename:5 checkpoint 0

# what takes longer than the limit but goes on
# shellcheck disable=SC2086
TINCA_HANG=1 mpi 2 train resnet20 --data shapes,limit=16 --batch 8 --iterations 4 --validate shapes,limit=2000 --seed 3 \
    --threads 1 -q --run-dir "$T/validating"
if [ "$status" = 0 ] && journal_lines validating/journal | grep '"event":"validation"' | grep -Eq '"seconds":([2-9]|1[.0-9]|[1-9][0-9])'; then
    ok "a validation that is longer than the limit"
else
    not_ok "a validation that is longer than the limit" "$(told); $(journal_lines validating/journal | grep '"event":"validation"')"
fi

# a single process goes on
# shellcheck disable=SC2086
env LD_PRELOAD="$HOLD_LIBRARY" FAULT=write:50:ENOSPC+ FAULT_ONLY=checkpoint \
    ASAN_OPTIONS="verify_asan_link_order=0:${ASAN_OPTIONS-}" \
    "$TINCA" train $long $often --run-dir "$T/single" >"$T/out" 2>"$T/err" </dev/null
if grep -q 'checkpoint.safetensors: .*No space left on device' err; then
    ok "one process says what the disk refuses"
else
    not_ok "one process says what the disk refuses" "$(told)"
fi
same "  and goes on" whole single

done_testing

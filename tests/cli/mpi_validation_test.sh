#!/bin/sh
# A validation that several processes divide: the journal has the figures of one process for 1, 2 and 4 of them, also
# if some lack the validation set, and a process that dies or is told to stop meanwhile ends all of them.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/cli/mpi.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
MAKE_PICTURE=$(dirname "$TINCA")/make_picture
need_mpi "a validation in several processes"
cd "$T" || exit 99

# validations FOLDER: prints the validations of a run, and its test, without what depends on the clock
validations() { journal_lines "$1/journal" | grep -E '"event":"(validation|test)"' | sed 's/"seconds":[^,}]*//'; }

# agree NAME FOLDER FOLDER: two runs have the same weights, validations and images that were classified correctly
agree() {
    validations "$2" >first.txt
    validations "$3" >second.txt
    if [ ! -s first.txt ] || ! cmp -s first.txt second.txt; then
        not_ok "$1" "$(diff first.txt second.txt); $(told)"
    elif [ -e "$2/correct.json" ] && ! cmp -s "$2/correct.json" "$3/correct.json"; then
        not_ok "$1" "$2 and $3 have other images right"
    else
        same "$1" "$2" "$3"
    fi
}

# alike NAME OPTION...: 1, 2 and 4 processes find the same in their validations
alike() {
    name=$1
    shift
    run train "$@" --blocks 4 --threads 2 --run-dir "$T/$name-1" -q
    [ "$status" = 0 ] || not_ok "$name trains in one process" "$(told)"
    for ranks in 2 4; do
        mpi $ranks train "$@" --blocks 4 --threads 1 --run-dir "$T/$name-$ranks" -q
        agree "$name: $ranks processes" "$name-1" "$name-$ranks"
    done
}

# --- the same figures ---

cat >regular.json <<'NETWORK'
{"name": "regular", "input": [1, 28, 28], "classes": 10, "normalise": "unit",
 "layers": [{"op": "conv", "name": "conv1", "output": 8, "kernel": 5, "stride": 2, "pad": 2},
            {"op": "batch_norm", "name": "bn1"}, {"op": "relu", "name": "relu1"},
            {"op": "dropout", "name": "drop1", "rate": 0.3},
            {"op": "linear", "name": "ip1", "output": "classes"}]}
NETWORK
picture_network pictures.json 16 4 8 2
small_pairs pairs 16
short="--batch 16 --epochs 2 --seed 3"
# shellcheck disable=SC2086 # a list of options
{
    alike regular ./regular.json --data digits,limit=64 --validate digits,limit=730 --test digits,limit=130 $short
    if journal_lines regular-4/journal | grep -q '"event":"test"'; then ok "a test is made"; else not_ok "a test is made" "$(validations regular-4)"; fi
    alike averages lenet --data digits,limit=64 --validate digits,limit=330 $short --ema 0.8
    alike pictures ./pictures.json --data pairs:$T/pairs --validate pairs:$T/pairs,limit=6 --batch 8 --epochs 1
    if journal_lines pictures-4/journal | grep -q '"event":"validation".*"pixel_accuracy":[0-9]'; then
        ok "pixels are counted"
    else
        not_ok "pixels are counted" "$(validations pictures-4)"
    fi
}

# --- hosts without the validation set ---
# Each process sees the set in its own folder: /proc/self/cwd.

for class in a b c; do
    mkdir -p here/$class
    case $class in a) size="28 28" ;; b) size="40 31" ;; c) size="30 52" ;; esac
    # shellcheck disable=SC2086 # width and height
    "$MAKE_PICTURE" interlaced $size here/$class/1.png || exit 99
    i=1
    while [ $i -lt 50 ]; do
        i=$((i + 1))
        cp here/$class/1.png here/$class/$i.png
    done
done
cp -r here other
rm other/?/50.png
mkdir there
folders="lenet --data folder:$T/here --validate folder:/proc/self/cwd --batch 16 --iterations 4 --seed 3 --blocks 4
    --threads 1 -q"
# mixed NAME FOLDER...: processes in these folders train the run NAME
mixed() {
    mixed_name=$1
    shift
    set -- "$mixed_name" "$@" --
    while [ "$2" != -- ]; do
        folder=$2 mixed_name=$1
        shift 2
        # shellcheck disable=SC2086 # a list of options
        set -- "$mixed_name" "$@" -n 1 -wdir "$T/$folder" "$TINCA" train $folders --run-dir "$T/$mixed_name" :
    done
    shift 2
    status=0
    mpirun "$@" >"$T/out" 2>"$T/err" </dev/null || status=$?
}
# notes PATTERN NAME FOLDER: the run has this finding
notes() {
    if journal_lines "$3/journal" | grep -Eq -- "\"event\":\"finding\".*$1"; then ok "$2"; else
        not_ok "$2" "$(journal_lines "$3/journal" | grep finding); $(told)"
    fi
}

mixed whole here
mixed some here there here other
agree "two of four processes have the set" whole some
notes '2 of 4 ranks share the validations: rank 1 on .*: ' "  the run says so" some
mixed alone here other
agree "one of two processes has it" whole alone
notes 'rank 0 validates alone: rank 1 on .*: its set has 147 images of 3 classes, and that of rank 0 150 of 3' \
    "  the run says so" alone
mixed all here here
agree "both have it" whole all
if ! journal_lines all/journal | grep -q 'validat.*rank 1'; then ok "  and nothing is noted"; else
    not_ok "  and nothing is noted" "$(journal_lines all/journal | grep finding)"
fi
# the second batch of the validation, with class c, is that of rank 1
cp -r here changed
for picture in changed/c/*.png; do cp here/a/1.png "$picture"; done
mixed used here changed
same "a process validates with pictures of its own" whole used
if [ "$(validations used)" != "$(validations whole)" ]; then ok "  and takes part"; else
    not_ok "  and takes part" "$(validations used)"
fi

# --- a validation that is disturbed ---

long="lenet --device reference --data digits,limit=64 --validate digits,limit=400 --batch 16 --epochs 1 --seed 3 --blocks 4"
# in_validation FOLDER: the journal has the last iteration of the epoch, and no validation, which takes seconds
in_validation() {
    has_line '"iteration":4,' "$1/journal" && ! has_line '"event":"validation"' "$1/journal"
}
in_validation_or_gone() { in_validation "$1" || gone $launcher; }

# disturb SIGNAL RANK: starts a run of two processes, and sends a signal to one of them while they validate
disturb() {
    # shellcheck disable=SC2086 # a list of options
    background "$1-$2" -n 2 "$TINCA" train $long --threads 1 --run-dir "$T/$1-$2" -q
    wait_until is_rank "$2" $launcher # finding it in time may take longer than the validation
    wait_until in_validation_or_gone "$1-$2"
    kill "-$1" "$process"
    in_validation "$1-$2" || not_ok "SIG$1 on rank $2 comes within the validation" "$(validations "$1-$2")"
}
# resumed NAME FOLDER RANKS: the run goes on, to the figures of one that was not disturbed
resumed() {
    if [ "$3" = 1 ]; then run resume "$T/$2" -q; else mpi "$3" resume "$T/$2" -q; fi
    agree "$1" undisturbed "$2"
}

disturb TERM 0
term=$launcher
finish TERM-0 $term
if [ "$status" != 0 ] && [ -z "$(validations TERM-0)" ] && [ -s TERM-0/checkpoint.safetensors ]; then
    ok "SIGTERM on rank 0 stops the run within its validation"
else
    not_ok "SIGTERM on rank 0 stops the run within its validation" "$status: $(validations TERM-0); $(told)"
fi
disturb KILL 1
kill=$launcher
finish KILL-1 $kill
if [ "$status" != 0 ]; then ok "SIGKILL on rank 1 ends all"; else not_ok "SIGKILL on rank 1 ends all" "$(told)"; fi
if wait_until none_left KILL-1; then ok "  and leaves no process"; else not_ok "  and leaves no process" "$(ps -ef)"; fi
disturb STOP 1
stop=$launcher
# shellcheck disable=SC2086 # a list of options
run train $long --threads 2 --run-dir "$T/undisturbed" -q
finish STOP-1 $stop
if [ "$status" != 0 ] && grep -q 'rank 1 on .*has not answered' err; then ok "SIGSTOP on rank 1 ends all"; else
    not_ok "SIGSTOP on rank 1 ends all" "$status: $(told)"
fi
if wait_until none_left STOP-1; then ok "  and leaves no process"; else not_ok "  and leaves no process" "$(ps -ef)"; fi
resumed "a run that was stopped while it validated goes on in four processes" TERM-0 4
if whole_list; then
    resumed "  one whose rank was killed in one" KILL-1 1
    resumed "  one whose rank was silent in two" STOP-1 2
fi

done_testing

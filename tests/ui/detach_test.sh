#!/bin/sh
# Quitting leaves the run running: a background process resumes it, and the queue goes on after it.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "a run goes on in the background"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
cd "$T" || exit 99
job="--data digits,limit=200 --batch 20 --seed 3 --threads 1"
runs=$XDG_STATE_HOME/tinca/runs

# shellcheck disable=SC2086 # a list of options
"$TINCA" train lenet $job --epochs 60 --run-dir "$T/whole" -q
# The shell stands for the user's: its prompt must come back.
cat >shell <<END
"$TINCA" ui lenet $job --epochs 60 --start
echo status \$? PROMPT
exec sleep 1000
END
screen_start 100x30 C.UTF-8 sh shell
screen_wait 'iteration +[0-9][0-9]+ of'
screen_keys Space # so that it is not over before all this is typed; what resumes it knows no pause
screen_wait '[Pp]aused'
screen_keys n
screen_shows 'Training data' "another run is set up"
screen_keys r
screen_shows 'In the queue' "  and waits"
screen_keys o q q
screen_keys q
screen_shows 'leave it running, and quit' "quitting offers to leave the runs running"
screen_keys l
screen_shows 'status 0 PROMPT' "the shell has its terminal back"
screen_shows 'goes on in the background, process [0-9]+' "  and the user learns which process goes on"
screen_shows 'tinca attach' "  and how to find it"
screen_shows '1 run waits in the queue' "  and that a run waits"
first=$(screen_text | sed -n 's/^\(2[^ ]*\) goes on in the .*/\1/p')
is_over() { [ "$(grep -l '"done"' "$runs"/2*/summary.json 2>/dev/null | wc -l)" -eq "$1" ]; }
screen_start 100x30 C.UTF-8 "$TINCA"
screen_shows 'Another process has a run that is on' "the workbench finds the run again"
screen_keys o
screen_shows 'running +lenet|done +lenet' "  and its list has the run"
screen_end
wait_until is_over 2 && ok "both runs end" || not_ok "both runs end" "$(ls "$runs"/*)"
journal_lines "$runs/$first/journal" | grep -q '"resume"' && ok "  the first one was resumed" ||
    not_ok "  the first one was resumed"
cmp -s "$runs/$first/weights.safetensors" whole/weights.safetensors && ok "  with the same bits" ||
    not_ok "  with the same bits"
for second in "$runs"/2*; do [ "${second##*/}" = "$first" ] || break; done
cmp -s "$second/weights.safetensors" whole/weights.safetensors && ok "  as has the one that waited" ||
    not_ok "  as has the one that waited"

# --- a sweep ---
cat >shell <<END
"$TINCA" ui lenet --data digits,limit=200 --batch 20 --epochs 60 --threads 1
exec sleep 1000
END
screen_start 100x30 C.UTF-8 sh shell
screen_wait 'Training data'
screen_keys m w Enter
screen_wait 'Batch'
screen_keys Down Down Left Left Left Left Left Space
screen_shows '2 cells, 2 waiting' "a sweep of two cells is set up"
screen_keys r
screen_wait 'iteration +[0-9][0-9]+|running'
screen_keys q
screen_wait 'Training data'
screen_keys q
screen_shows 'only if you leave|leave it running, and quit' "quitting a sweep offers it, too"
screen_keys l
screen_shows 'goes on in the background' "  and says how to find it"
screen_shows 'tinca sweep --name' "  with the command"
screen_end
both_done() { "$TINCA" sweep --list | grep -Eq 'lenet-digits +2 +2 +0 +0 *$'; }
wait_until both_done && ok "  both cells end" || not_ok "  both cells end" "$("$TINCA" sweep --list)"
[ "$(ls -d "$runs"/2* | wc -l)" -eq 4 ] && ok "  each once" || not_ok "  each once" "$(ls "$runs")"

# --- a handover that fails ---
mkdir "$T/gone"
screen_start 200x30 C.UTF-8 "$TINCA" ui lenet --data "digits,limit=200" --batch 20 --epochs 100000 --threads 1 --start \
    --save "$T/gone/model"
screen_wait 'iteration +[0-9][0-9]+ of'
rm -r "$T/gone"
screen_keys q
screen_wait 'leave it running'
screen_keys l
screen_shows 'gone/model: .*does not exist' "a model that cannot be saved: the message says why"
screen_keys o
screen_shows 'failed +lenet' "  and the workbench stays"
screen_end

mkdir "$T/set"
{
    printf '\000\000\010\003\000\000\000\050\000\000\000\034\000\000\000\034'
    dd if=/dev/zero bs=784 count=40 2>/dev/null
} >"$T/set/train-images-idx3-ubyte"
{
    printf '\000\000\010\001\000\000\000\050'
    dd if=/dev/zero bs=40 count=1 2>/dev/null
} >"$T/set/train-labels-idx1-ubyte"
screen_start 200x30 C.UTF-8 "$TINCA" ui lenet --data "idx:$T/set" --validate '' --batch 20 --epochs 100000 --threads 1 --start
screen_wait 'iteration +[0-9][0-9]+ of'
rm -r "$T/set"
screen_keys q
screen_wait 'leave it running'
screen_keys l
screen_shows 'background process: ' "a background process that cannot go on: the message says so"
screen_keys o
screen_shows 'stopped +lenet' "  and the workbench stays"
screen_end

# --- only a run that waits ---
"$TINCA" train lenet --data digits,limit=200 --batch 20 --epochs 100000 --threads 1 -q &
screen_start 100x30 C.UTF-8 "$TINCA" ui lenet $job --epochs 2
screen_shows 'other run uses' "the form says what computes already"
screen_keys r
screen_shows 'wait until it ends' "r offers to wait for it"
screen_keys w
screen_shows 'waits for 2' "the title says which run it waits for"
screen_keys q
screen_shows '1 run waits for the runs of other processes' "quitting does not claim that a run is on here"
screen_lacks 'finish this epoch' "  nor offers what needs one"
screen_shows 'leave it waiting' "  but to leave it waiting"
screen_keys y
ended "  or to drop it"
kill $!
wait $! 2>/dev/null
done_testing

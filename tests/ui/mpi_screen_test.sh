#!/bin/sh
# The workbench in a launcher: it has the launcher's terminal, the other ranks train each run that is started
# from the form, and whatever dies, the terminal is restored and no process remains.
. "${srcdir:-.}/tests/ui/screen.sh"
. "${srcdir:-.}/tests/cli/mpi.sh"
need_tmux "the workbench in a launcher"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
need_mpi "the workbench in a launcher"
cd "$T" || exit 99
runs=$XDG_STATE_HOME/tinca/runs
job="lenet --data digits,limit=400 --batch 20 --iterations 100000 --threads 1 --defaults"

# launch SIZE LOCALE OPTION...: starts the workbench in a shell, whose prompt comes back at the end; $prefix has
# assignments of its environment
prefix=
session=0
launch() {
    size=$1 locale=$2
    shift 2
    session=$((session + 1))
    # shellcheck disable=SC2086 # a list of options
    cat >shell-$session <<END
export TINCA_SESSION=$session TMPDIR="$T/tmp-$session"
mkdir "\$TMPDIR"
$prefix mpirun -n 2 "$TINCA" ui $job $*
echo "status \$? PROMPT"
for i in \$(seq 60); do # a killed launcher ends before rank 0 does
    stty -a | grep -Eq '(^| )icanon' && break
    sleep 1
done
stty -a | grep -Eo '(^| )-?(icanon|echo)( |;|\$)' | tr -d ' ;\n'
echo " LINE"
exec sleep 1000
END
    screen_start "$size" "$locale" sh shell-$session
    screen_wait 'Set up.*|Run .* (lenet|perceptron)' || not_ok "the workbench begins" "$(screen_text)"
}

# show_ranks: waits until the run has told about its ranks, and shows their view
show_ranks() {
    screen_wait '^1.*9.* R( |$)'
    screen_keys R
}

parent_of() { sed 's/.*) [A-Za-z] \([0-9]*\) .*/\1/' "/proc/$1/stat" 2>/dev/null; }

# ours: prints the environments of the processes of the session
ours() {
    for environment in $(grep -las -- "TINCA_TEST=$T" /proc/[0-9]*/environ 2>/dev/null); do
        grep -qz "^TINCA_SESSION=$session$" "$environment" 2>/dev/null && echo "$environment"
    done
}

# rank_of R: prints the process of a rank
rank_of() {
    for environment in $(ours); do
        process=${environment#/proc/} process=${process%/environ}
        grep -qz "^OMPI_COMM_WORLD_RANK=$1$" "$environment" 2>/dev/null &&
            [ "$(cat "/proc/$(parent_of "$process")/comm" 2>/dev/null)" = mpirun ] && echo "$process" && return
    done
}
# left: whether a process of a workbench is still there; a zombie has no environment, but a name
left() {
    ours | while read -r environment; do
        grep -qazx ui "$(dirname "$environment")/cmdline" 2>/dev/null && echo left
    done | grep -q left
}
none_left() { ! left && ! ps -eo stat=,ppid=,comm= | grep -q '^Z.* 1 tinca'; }

# restored NAME: the shell has its terminal back as it was, and no process remains
restored() {
    screen_shows ' LINE' "$1"
    screen_shows '^ ?(icanonecho|echoicanon) LINE' "  and restores the terminal"
    wait_until none_left && ok "  no process remains" || not_ok "  no process remains" "$(ps -eo pid,ppid,stat,args)"
    screen_end
}

# --- a session ---

prefix=TINCA_HANG=2
launch 80x24 C.UTF-8
prefix=
screen_shows '2 ranks train each run' "the workbench has the launcher's terminal, and says who trains"
# every key reaches it, none the launcher
for _ in 1 2 3 4 5 6 7 8 9 10 11; do screen_keys Down; done
screen_shows '^> *Iterations' "keys reach it"
screen_keys Enter C-u
screen_keys -l 54321
screen_shows '54321' "  all of them"
screen_keys Enter
screen_resize 120x40
screen_keys C-l
has_width() { seen '(─){110,}'; }
wait_until has_width && ok "it has the size of the terminal, also a new one" ||
    not_ok "it has the size of the terminal, also a new one" "$(screen_text)"
screen_resize 80x24
screen_keys C-z
screen_keys F5
screen_shows 'iteration +[0-9]+ of 54321' "a run begins; C-z does not suspend it"
show_ranks
screen_shows 'R.Ranks' "R shows the view Ranks"
screen_shows '2 ranks, means of the last [0-9]+ iterations' "  with the iterations that it is about"
screen_shows '^.    1 .* [0-9]+\.[0-9]+ +[0-9.]+ +[0-9.]+ ' "  and the milliseconds of rank 1"
screen_keys Space
screen_shows 'paused|Paused' "a run pauses"
sleep 6 # longer than the other ranks may wait within an iteration
screen_keys Space
screen_lacks 'paused|Paused' "  for longer than a rank may hang, and goes on"
screen_keys Right Right
screen_shows 'DATA ms.?↓|COMPUTES ms↓' "  which can be sorted"
screen_keys s
screen_wait 'Stop the run'
screen_keys n
screen_shows 'is stopped' "the run stops"
screen_shows '2 ranks, means of [0-9]+ iterations' "  and the means are over all iterations"
screen_keys n
screen_wait 'Training data'
screen_keys F5
screen_shows 'iteration +[0-9]+ of 54321' "the ranks have waited for the next run"
screen_keys q
screen_wait 'Training data'
screen_keys q
screen_wait 'Quit'
screen_lacks 'leave it running' "a run of several processes cannot be left to one"
screen_keys y
restored "quitting ends all"
for folder in "$runs"/*; do
    if [ -e "$folder/summary.json" ]; then "$JSON_LOOK" "$folder/summary.json" ranks.#; fi
done >found 2>&1
[ "$(grep -cx 2 found)" = 2 ] && ok "both runs were trained by two ranks" ||
    not_ok "both runs were trained by two ranks" "$(cat found)"

# --- ranks that are stopped: they are looked at last, since the others wait for ten seconds ---

# The terminals of these sessions stay when another begins.
stopped_sockets= first_stopped=$((session + 1))
for rank in 0 1; do
    launch 80x24 C.UTF-8 --start
    screen_wait 'iteration +[0-9]+ of'
    kill -STOP "$(rank_of $rank)"
    stopped_sockets="$stopped_sockets $SOCKET"
    SOCKET=tinca-ui-$$-$((${SOCKET##*-} + 1))
done
trap 'for SOCKET in $stopped_sockets $SOCKET; do screen_end; done; end_processes; rm -rf "$T"' EXIT

# --- other terminals ---

# Two processes take longer than one for the smallest network: that becomes a finding here, too, without a verdict.
screen_terminal=vt100
lenet=$job
job="perceptron --data digits,limit=400 --batch 2 --iterations 100000000 --threads 1 --defaults"
launch 120x40 C --start
job=$lenet
show_ranks
screen_shows '2 ranks, means of the last' "ASCII, 120x40"
journal_lines "$runs"/*perceptron*/journal | grep -hs '"kind":"scaling"' | grep -q 'tinca bench --cluster takes turns' &&
    ok "a run that takes longer than one process is told so" ||
    not_ok "a run that takes longer than one process is told so" "$(journal_lines "$runs"/*perceptron*/journal | head -n 5)"
kill -INT "$(rank_of 0)"
restored "SIGINT ends all, and saves"
screen_terminal=
prefix=NO_COLOR=1
launch 200x60 C.UTF-8 --start
show_ranks
screen_shows '2 ranks, means of the last' "without colours, 200x60"
screen_end
wait_until none_left && ok "closing the terminal leaves no process" ||
    not_ok "closing the terminal leaves no process" "$(ps -eo pid,ppid,stat,args)"
prefix=

# --- death ---

for rank in 0 1; do
    launch 80x24 C.UTF-8 --start
    screen_wait 'iteration +[0-9]+ of'
    kill -KILL "$(rank_of $rank)"
    restored "SIGKILL on rank $rank ends all"
done
launch 80x24 C.UTF-8
kill -KILL "$(parent_of "$(rank_of 0)")"
restored "SIGKILL on the launcher ends all" # the shell may print before the screen is restored
latest=$SOCKET rank=0
for SOCKET in $stopped_sockets; do
    session=$((first_stopped + rank))
    [ $rank = 1 ] && screen_shows 'rank 1 on .*: it has not answered' "the reason is told"
    restored "SIGSTOP on rank $rank ends all"
    rank=$((rank + 1))
done
SOCKET=$latest

# --- no terminal ---

status=0
setsid mpirun -n 2 "$TINCA" ui >out 2>err </dev/null || status=$?
if [ "$status" != 0 ] && grep -q 'mpirun: the workbench needs a terminal.*srun --pty.*tinca attach' err &&
    [ "$(grep -c 'tinca: ' err)" = 1 ]; then ok "without a terminal it says why, once"; else
    not_ok "without a terminal it says why, once" "exit $status: $(told)"
fi
cat >shell <<END
set -m
mpirun -n 2 "$TINCA" ui $job </dev/null >out 2>err &
wait
echo PROMPT
exec sleep 1000
END
screen_start 80x24 C.UTF-8 sh shell
screen_wait PROMPT
grep -q 'runs in the background' err && ok "in the background it says so" || not_ok "in the background it says so" "$(told)"
done_testing

#!/bin/sh
# tinca sweep --over mpi: the ranks of a launcher share the cells of a sweep: the largest first, each computed
# once, with the results of a plain sweep, whatever ends ranks, launcher or cells.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/cli/mpi.sh"
. "$srcdir/tests/faults/hold.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
cd "$T" || exit 99

# says STATUS PATTERN NAME: the last command ended with this status (+: any but 0) and a message that matches
says() {
    case $1 in "$status") good=yes ;; +) [ "$status" != 0 ] && good=yes || good=no ;; *) good=no ;; esac
    if [ $good = yes ] && grep -Eq -- "$2" "$T/err"; then ok "$3"; else not_ok "$3" "exit $status: $(told)"; fi
}

check() { # check NAME COMMAND...
    name=$1
    shift
    if "$@" >"$T/said" 2>&1; then ok "$name"; else not_ok "$name" "$* $(tail -n 5 "$T/said") $(told)"; fi
}

# --- what is refused ---

grid="--networks mlp,lenet --batches 2,16 --data digits,limit=64 --iterations 20 --threads 1"
two="OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK"
# shellcheck disable=SC2086 # lists of options
{
    refuses 2 "no launcher such as mpirun or srun" "without a launcher" sweep $grid --over mpi
    refuses 2 "mpi" "another library" sweep $grid --over gloo
    refuses 2 "give --over mpi as well" "ranks of a plain sweep" sweep $grid --ranks 2
    for other in "--cell 1" "--wait" "--jobs 2" "--dry-run" "--due" "--report" "--list"; do
        launched "$two=0" sweep $grid --over mpi $other
        says 2 "^tinca: ${other% [0-9]}: it cannot be given with --over" "--over with $other"
    done
    launched "$two=0" sweep $grid
    says 2 "mpirun: it started 2 processes, each of which would compute the whole sweep" \
        "several processes without --over"
    launched "$two=1" sweep $grid
    if [ "$status" = 2 ] && [ ! -s err ]; then ok "  which rank 0 says for all"; else
        not_ok "  which rank 0 says for all" "$status: $(told)"
    fi
    if lone_program "without the module"; then
        launched_program "$lone" "$two=0" sweep $grid --over mpi
        says 1 "$missing" "without the module"
    fi
    launched "$two=1" sweep $grid --over mpi
    says 1 "rank 1 on .*: .*(built without MPI|there is no .*tinca-mpi.so|but MPI .* knows 1)" \
        "a launcher of another MPI"
    check "  nothing is stored" test ! -e state/tinca/sweeps

    launched "OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0" sweep $grid --over mpi --name single -q
    check "one rank needs no MPI" test "$status" = 0
    rm -rf state
}

need_mpi "sweeps over several ranks"

# mpi N ARGUMENT...: runs tinca sweep --over mpi in N processes
mpi() {
    processes=$1
    shift
    status=0
    mpirun -n "$processes" "$TINCA" sweep --over mpi "$@" >"$T/out" 2>"$T/err" </dev/null || status=$?
}

# state FOLDER: the state folder of the commands that follow
state() { export XDG_STATE_HOME="$T/$1"; }
runs() { find "$XDG_STATE_HOME/tinca/runs" -name config.json 2>/dev/null | wc -l; }
same_as_plain() { # same_as_plain NAME FOLDER SWEEP
    found=$(differing plain "$2" "$3")
    if [ -z "$found" ]; then ok "$1"; else not_ok "$1" "$found"; fi
}
# left: prints the commands of this test's sweeps that still run
left() {
    for environment in $(grep -las -- "TINCA_TEST=$T" /proc/[0-9]*/environ 2>/dev/null); do
        cat "${environment%environ}cmdline" 2>/dev/null | tr '\0' ' ' | grep -a '^[^ ]*tinca sweep'
    done
}
none_left() { [ -z "$(left)" ] && no_zombies; }

# --- the same results, the largest cell first ---

state plain
# shellcheck disable=SC2086
run sweep $grid --name same -q
run sweep --name same --report --json
losses=$(for i in 0 1 2 3; do "$JSON_LOOK" out "cells.$i.result.loss"; done)

# by_size: prints the numbers of the cells, by FLOPs x batch, the largest first; the cells have equally many iterations
by_size() {
    number=0
    for network in mlp lenet; do
        "$TINCA" info $network --json >info 2>/dev/null
        for batch in 2 16; do
            number=$((number + 1))
            echo "$(($("$JSON_LOOK" info flops) * batch)) $number"
        done
    done | sort -rn | cut -d' ' -f2 | tr '\n' ' '
}

for ranks in 1 2 4; do
    state ranks-$ranks
    # shellcheck disable=SC2086
    mpi $ranks $grid --name same
    cp err lines
    check "$ranks ranks compute a sweep" test "$status" = 0
    check "  one run for each cell" test "$(runs)" = 4
    check "  and one line" test "$(grep -c 'done, .* ms/image' lines)" = 4
    same_as_plain "  the weights of a plain sweep" ranks-$ranks same
    shows '^lenet +[0-9.]+ +[0-9.]+$' "  rank 0 prints the tables"
    run sweep --name same --report --json
    is "  all are done" states.done 4
    check "  with the same losses" test "$(for i in 0 1 2 3; do "$JSON_LOOK" out "cells.$i.result.loss"; done)" = "$losses"
    if [ $ranks = 1 ]; then
        order=$(sed -n 's,^\([0-9]\)/4 .*done.*,\1,p' lines | tr '\n' ' ')
        if [ "$order" = "$(by_size)" ]; then ok "  the largest first"; else not_ok "  the largest first" "$order, not $(by_size)"; fi
    else
        check "  a line names the rank and its host" grep -q "done, .* (rank [0-9] on $(hostname)" lines
    fi
done
check "of 4 ranks more than one computes" test "$(sed -n 's/.*(\(rank [0-9]\) on.*/\1/p' lines | sort -u | wc -l)" -gt 1
# shellcheck disable=SC2046
succeeds "tinca compare lists them" compare $(ls "$XDG_STATE_HOME/tinca/runs")
check "  all" test "$(grep -c 'lenet\|mlp' out)" -ge 4
mpi 3 --name same
check "once more: nothing is computed" test "$status,$(runs)" = 0,4
check "  by its name, without the grid" grep -q '^lenet ' out
check "no token is left" test -z "$(find "$T"/ranks-*/tinca/sweeps -name 'ranks-*' -type f)"

# --- two sweeps at once in one folder ---

slow="--networks mlp,lenet --batches 4,8 --data digits,limit=64 --iterations 30 --threads 1 --vary seed=1,2"
state plain
# shellcheck disable=SC2086
run sweep $slow --name twice -q --jobs 2
state twice
mkdir twice-tmp # two launchers that begin at once may fail to make Open MPI's folder in one TMPDIR
# shellcheck disable=SC2086
{
    TMPDIR="$T/twice-tmp" mpirun -n 2 "$TINCA" sweep --over mpi $slow --name twice -q >out-1 2>err-1 </dev/null &
    other=$!
    mpi 2 $slow --name twice -q
}
other_status=0
wait $other || other_status=$?
cat err-1 >>err
check "two sweeps at once in one folder: both end" test "$other_status,$status" = 0,0
check "  no cell is computed twice" test "$(runs)" = 8
check "  no journal has an iteration twice" test -z "$(for journal in twice/tinca/runs/*/journal; do
    journal_lines "$journal" | sed -n 's/^{"iteration":\([0-9]*\),.*/\1/p' | sort | uniq -d; done)"
run sweep --name twice --report --json
is "  all are done" states.done 8
same_as_plain "  as a plain sweep does" twice twice
check "no process is left" wait_until none_left

# --- kills ---

# A cell has six epochs, with a checkpoint at the end of each. Where a sweep is disturbed, every cell stops itself when
# it has its first checkpoint and is about to put the second in its place: none is done before the test has acted.
often="--checkpoint 60 --checkpoint-share 100"
long="--networks mlp,lenet --batches 12,16 --data digits,limit=64 --iterations 30 --threads 1"
state plain
# shellcheck disable=SC2086
run sweep $long $often --name killed -q --jobs 2

# cells: prints the processes that compute cells
cells() {
    for cell in $(pgrep -f "sweep .*--cell "); do
        grep -qz -- "^XDG_STATE_HOME=$XDG_STATE_HOME$" "/proc/$cell/environ" 2>/dev/null && echo "$cell"
    done
}
# send SIGNAL: sends it to these
send() { for cell in $(cells); do kill -"$1" "$cell" 2>/dev/null; done; }
# begin FOLDER RANKS [OPTION...]: starts so many ranks, and waits until each has a cell that has stopped itself. With
# $more the cells stop themselves again at their next files.
more=
begin() {
    state "$1"
    ranks=$2
    shift 2
    preload=
    for variable in $(holding 3 $more); do preload="$preload -x $variable"; done
    # shellcheck disable=SC2086
    mpirun $preload "$@" -n "$ranks" "$TINCA" sweep --over mpi $long $often --name killed >out 2>err </dev/null &
    launcher=$!
    wait_until all_held
    held=$(cells)
}
all_held() {
    number=0
    for cell in $(cells); do is_stopped "$cell" && number=$((number + 1)); done
    [ $number = "$ranks" ]
}
# told_to_stop: whether one of the cells that were stopped has a signal SIGTERM pending, or goes on already, as it does
# when its rank has died
told_to_stop() {
    for cell in $held; do
        grep -q '^State:.T' "/proc/$cell/status" 2>/dev/null || return 0
        pending=$(sed -n 's/^ShdPnd:.*\(....\)$/\1/p' "/proc/$cell/status" 2>/dev/null)
        [ $((0x${pending:-4000} & 0x4000)) = 0 ] || return 0
    done
    return 1
}
# go_on: lets the cells go on, as soon as one of them has been told to stop, until the launcher and all cells have ended
go_on() {
    wait_until told_to_stop
    wait_until ended
}
# ended: lets the cells go on, which stop themselves at several files, as do those that continue them
ended() {
    send CONT
    gone $launcher && [ -z "$(cells)" ]
}
# ids: prints the runs of the cells that have one
ids() { for cell in "$XDG_STATE_HOME"/tinca/sweeps/killed/*/cell.json; do "$JSON_LOOK" "$cell" run; done; }
# processes: prints the processes of the sweep, cells included
processes() {
    for environment in $(grep -las -- "XDG_STATE_HOME=$XDG_STATE_HOME" /proc/[0-9]*/environ 2>/dev/null); do
        cat "${environment%environ}cmdline" 2>/dev/null | tr '\0' ' ' | grep -aq '^[^ ]*tinca sweep' &&
            echo "$environment" | tr -dc 0-9 && echo
    done
}
# interrupted NAME: the two cells that were computed can be continued
interrupted() {
    check "$1: no process is left, nor a zombie" wait_until none_left
    run sweep --name killed --dry-run --json
    cp "$T/out" look
    [ "$status" = 0 ] || echo "# $(told)"
    is "  two cells are interrupted" states.interrupted 2 look
}
# continued RANKS: starts the same sweep again; it continues the interrupted runs
continued() {
    begun=$(ids)
    # shellcheck disable=SC2086
    mpi "$1" $long $often --name killed
    check "  the second start succeeds" test "$status" = 0
    check "  it continues the same runs" test -z "$(echo "$begun" | grep -vxF "$(ids)")"
    check "  and starts only the others" test "$(runs)" = 4
    same_as_plain "  to the weights of a plain sweep" "$(basename "$XDG_STATE_HOME")" killed
}

begin all 2
# shellcheck disable=SC2046
kill -KILL $launcher $(processes)
wait $launcher 2>/dev/null
interrupted "SIGKILL of launcher, ranks and cells"
continued 2

begin launcher 2
kill -KILL $launcher
go_on
wait $launcher 2>/dev/null
interrupted "SIGKILL of the launcher"
if every; then continued 4; fi

more=+3
begin stopped 2
more=
kill -TERM $launcher # it lets all processes go on, up to their next file, and sends them the signal a second later
go_on
wait $launcher
status=$?
check "SIGTERM: the launcher fails" test $status != 0
interrupted "  stopped in order"
continued 3

# rank_process NUMBER: prints the process of a rank
rank_process() {
    for process in $(pgrep -P $launcher -f "tinca sweep"); do
        grep -qz "^OMPI_COMM_WORLD_RANK=$1$" "/proc/$process/environ" && echo "$process"
    done
}

# A rank that is told to stop hands its cell back.
begin left 2
kill -TERM "$(rank_process 1)"
go_on
wait $launcher
status=$?
check "SIGTERM of one rank: the sweep is done" test $status = 0
check "  a cell was handed back" grep -q 'interrupted (rank 1 on' err
check "  and continued by rank 0" test "$(grep -c 'done, .*(rank 0 on' err),$(runs)" = 4,4
same_as_plain "  to the same weights" left killed

# A rank that dies, under a launcher that keeps the others.
begin lost 3 --enable-recovery
kill -KILL "$(rank_process 1)"
go_on
wait $launcher
check "SIGKILL of one rank: the loss is reported" grep -q 'rank 1 on .* is lost' err
check "  its cell was given to another" test "$(grep -c 'done, .*(rank [02] on' err),$(runs)" = 4,4
same_as_plain "  to the same weights" lost killed
check "  no process is left" wait_until none_left

# The same by a launcher that ends all ranks.
begin ended 3
kill -KILL "$(rank_process 1)"
wait_until ended
wait $launcher
status=$?
check "SIGKILL of one rank, which the launcher answers by ending all" test $status != 0
check "  no process is left" wait_until none_left
if every; then
    # shellcheck disable=SC2086
    mpi 2 $long $often --name killed -q
    check "  the second start succeeds" test "$status,$(runs)" = 0,4
    same_as_plain "  to the same weights" ended killed
fi

# --- hosts that differ ---

# pair OPTIONS: runs a sweep on a rank 0 started with $first before it, and a rank 1 with $second
pair() {
    status=0
    # shellcheck disable=SC2086
    mpirun -n 1 $first "$TINCA" sweep --over mpi "$@" : -n 1 $second "$TINCA" sweep --over mpi "$@" \
        >out 2>err </dev/null || status=$?
}

state apart
first= second="env XDG_STATE_HOME=$T/elsewhere"
# shellcheck disable=SC2086
pair $grid --name apart
says 1 "rank 1 on .*: .*elsewhere/tinca/sweeps/apart: this is not the folder that rank 0 uses" \
    "a host with another state folder is refused"
check "  computes nothing" test "$(runs)" = 0
check "  and leaves no token" test -z "$(find "$T/apart" -name 'ranks-*')"

second=
# shellcheck disable=SC2086
pair --networks mlp --batches 2 --data "idx:/nowhere" --iterations 2 --name bad --vary "data=idx:/nowhere;digits,limit=40"
says 1 "1/2 .*: failed: " "a cell that fails: status 1"
run sweep --name bad --dry-run --json
is "  is marked" cells.0.state failed
is "  and the other is done" cells.1.state done

# A host without enough memory for a cell leaves it to another one.
if (ulimit -v 900000 && "$TINCA" --version >/dev/null 2>&1) && unshare -u hostname tinca-other 2>/dev/null; then
    state memory
    printf '#!/bin/sh\nulimit -v 900000\nexec "$@"\n' >small
    printf '#!/bin/sh\nexec unshare -u sh -c "hostname tinca-other && exec \\"\\$@\\"" sh "$@"\n' >other
    chmod +x small other
    cat >wide.json <<'NETWORK'
{"name": "wide", "input": [1, 28, 28], "classes": 10, "normalise": "unit",
 "layers": [{"op": "conv", "output": 512, "kernel": 1}, {"op": "relu"}, {"op": "max_pool", "kernel": 28, "stride": 28},
            {"op": "linear", "output": "classes"}]}
NETWORK
    large="--networks ./wide.json --batches 300 --data digits,limit=300 --iterations 1" # a gigabyte, but no work
    first=$T/small second=$T/other
    # shellcheck disable=SC2086
    pair $large --name memory --threads 1
    check "a cell that does not fit the host of rank 0: computed by another" \
        grep -q 'done, .*(rank 1 on tinca-other)' err
    first=$T/other second=$T/small
    # shellcheck disable=SC2086
    pair $large --name memory-2 --threads 1
    check "  whatever the order of the hosts" grep -q 'done, .*(rank 0 on tinca-other)' err
    first=$T/small second=$T/small
    # shellcheck disable=SC2086
    pair $large --name memory-3 --threads 1
    check "  and where it fits none, it is no failure" test "$status" = 0
    shows 'wide.json-b300-[^ ]*: cannot fit: ' "  and it is shown"
else
    skip "a host without enough memory for a cell" "addresses cannot be limited, or no other host name be given"
fi

done_testing

# Sourced by tests of several processes, after tap.sh: Open MPI's mpirun, or the whole script is skipped.

# need_mpi NAME: skips the whole script without the module or without mpirun
need_mpi() {
    if [ ! -e "$(dirname "$TINCA")/tinca-mpi.so" ]; then
        skip "$1" "this build has no MPI (configure says why)"
        done_testing
    fi
    if ! command -v mpirun >/dev/null || ! mpirun --version 2>/dev/null | grep -q 'Open MPI'; then
        skip "$1" "there is no mpirun of Open MPI"
        done_testing
    fi
    # Open MPI refuses root and more processes than cores unless it is told; its files belong into the scratch
    # folder.
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_hwloc_base_binding_policy=none
    export OMPI_MCA_mpi_yield_when_idle=1 TMPDIR="$T"
    watch_zombies
}

# launched VARIABLES ARGUMENT...: runs the program as if a launcher had set these variables
launched() { launched_program "$TINCA" "$@"; }
launched_program() {
    program=$1 variables=$2
    shift 2
    status=0
    # shellcheck disable=SC2086 # a list of assignments
    env $variables "$program" "$@" >"$T/out" 2>"$T/err" </dev/null || status=$?
}

# lone_program NAME: copies the program to $lone, a folder without modules, and sets $missing to the pattern of what it
# says under a launcher. Skips NAME and fails if a module is installed, which it would find.
lone_program() {
    lone=$T/lone/tinca
    mkdir -p "$T/lone" && cp "$TINCA" "$lone" || return 1
    case $("$lone" --version | grep '^  MPI ') in
    *none:*"is not installed")
        missing="there is no .*/tinca-mpi\\.so: install the package tinca-mpi; .*openmpi-bin and libopenmpi-dev"
        ;;
    *tinca-mpi.so)
        skip "$1" "a module is installed"
        return 1
        ;;
    *) missing="this tinca was built without MPI: install Open MPI or MPICH .*openmpi-bin and libopenmpi-dev" ;;
    esac
}

# mpi N ARGUMENT...: runs the program in N processes
mpi() {
    processes=$1
    shift
    status=0
    mpirun -n "$processes" "$TINCA" "$@" >"$T/out" 2>"$T/err" </dev/null || status=$?
}

# Repetitions that add no other kind of check are left to tests/long/mpi_long.sh, which sets this variable.
MPI_EVERY=${MPI_EVERY:-}
every() { [ -n "$MPI_EVERY" ]; }

# background NAME ARGUMENT...: starts mpirun with these arguments, with the output in NAME.out and NAME.err, and sets
# $launcher. Launchers that begin at once may fail to make Open MPI's folder in one TMPDIR.
background() {
    job_name=$1
    shift
    mkdir -p "$T/tmp-$job_name"
    TMPDIR="$T/tmp-$job_name" mpirun "$@" >"$T/$job_name.out" 2>"$T/$job_name.err" </dev/null &
    launcher=$!
}

# finish NAME PROCESS: waits for the launcher of a background job, but not for ever; sets $status, and copies the
# output to $T/out and $T/err. A job whose rank falls silent ends itself, on a loaded machine after minutes: an earlier
# failure of the test does not shorten the wait.
finish() {
    usual=$PATIENCE usual_after_failure=$PATIENCE_AFTER_FAILURE
    PATIENCE=$((usual * 10))
    PATIENCE_AFTER_FAILURE=$PATIENCE
    wait_until gone "$2" || kill -KILL "$2"
    PATIENCE=$usual PATIENCE_AFTER_FAILURE=$usual_after_failure
    status=0
    wait "$2" 2>/dev/null || status=$?
    cp "$T/$1.out" "$T/out"
    cp "$T/$1.err" "$T/err"
}

# is_rank RANK LAUNCHER: whether this rank is there, as $process
is_rank() {
    for process in $(pgrep -P "$2" -f "tinca train" 2>/dev/null); do
        grep -qsz "^OMPI_COMM_WORLD_RANK=$1$" "/proc/$process/environ" && return
    done
    return 1
}

# zombies: prints how many processes of the program have ended, but nobody has waited for them. A name is all that is
# left of them, so those of other tests count, too; these last for a moment.
zombies() { ps -eo stat=,comm= | grep -c '^Z[^ ]* *tinca'; }

# watch_zombies: notes how many there are when a test begins. Where the first process does not wait for orphans, as in
# some containers, none are counted.
watch_zombies() {
    zombies_before=$(zombies)
    orphan=$(sh -c 'sleep 0.1 >/dev/null 2>&1 & echo $!')
    tries=50
    until gone "$orphan" || [ $tries = 0 ]; do
        tries=$((tries - 1))
        sleep 0.1
    done
    gone "$orphan" || zombies_before=1000000
}

# no_zombies: whether there are no more than when the test began
no_zombies() { [ "$(zombies)" -le "$zombies_before" ]; }

# none_left FOLDER: whether no process of this run is left, nor a zombie
none_left() {
    no_zombies && ! grep -las "TINCA_TEST=$T" /proc/[0-9]*/environ 2>/dev/null | while read -r environment; do
        grep -qazxF "$T/$1" "$(dirname "$environment")/cmdline" 2>/dev/null && echo left
    done | grep -q left
}

# same NAME FOLDER FOLDER: two runs have the same weights
same() {
    if [ -s "$2/weights.safetensors" ] && cmp -s "$2/weights.safetensors" "$3/weights.safetensors"; then
        ok "$1"
    else
        not_ok "$1" "$2 and $3 differ; the last messages: $(told)"
    fi
}

# differ NAME FOLDER FOLDER: two runs have other weights, so that the setting between them does something
differ() {
    if [ -s "$2/weights.safetensors" ] && [ -s "$3/weights.safetensors" ] &&
        ! cmp -s "$2/weights.safetensors" "$3/weights.safetensors"; then
        ok "$1"
    else
        not_ok "$1" "$2 and $3 are the same, or one has no weights; the last messages: $(told)"
    fi
}

# run_of_cell FOLDER SWEEP CELL: prints the ID of the run of a cell
run_of_cell() { "$JSON_LOOK" "$T/$1/tinca/sweeps/$2/$3/cell.json" run 2>/dev/null; }
# cells_of FOLDER SWEEP: prints the cells of a sweep in a state folder
cells_of() { (cd "$T/$1/tinca/sweeps/$2" && ls -d ./*-cpu-*); }
# differing FOLDER FOLDER SWEEP: prints the cells whose weights are missing or differ in two state folders
differing() {
    [ -n "$(cells_of "$1" "$3")" ] || echo "there are no cells"
    for cell in $(cells_of "$1" "$3"); do
        cmp -s "$1/tinca/runs/$(run_of_cell "$1" "$3" "$cell")/weights.safetensors" \
            "$2/tinca/runs/$(run_of_cell "$2" "$3" "$cell")/weights.safetensors" || echo "$cell"
    done
}

# regular_network FILE: writes a network with convolutions, batch norms and dropout, one of it of channels
regular_network() {
    cat >"$1" <<'NETWORK'
{"name": "regular", "input": [1, 28, 28], "classes": 10, "normalise": "unit",
 "layers": [{"op": "conv", "name": "conv1", "output": 20, "kernel": 5, "stride": 2, "pad": 2},
            {"op": "batch_norm", "name": "bn1"}, {"op": "relu", "name": "relu1"},
            {"op": "dropout", "name": "drop1", "rate": 0.3, "channels": true},
            {"op": "conv", "name": "conv2", "output": 7, "kernel": 3, "stride": 2, "pad": 1},
            {"op": "batch_norm", "name": "bn2"}, {"op": "relu", "name": "relu2"},
            {"op": "dropout", "name": "drop2", "rate": 0.4},
            {"op": "linear", "name": "ip1", "output": 33},
            {"op": "batch_norm", "name": "bn3"}, {"op": "relu", "name": "relu3"},
            {"op": "dropout", "name": "drop3", "rate": 0.5},
            {"op": "linear", "name": "ip2", "output": "classes"}]}
NETWORK
}

#!/bin/sh
# --help, --version, and messages about wrong usage.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"

commands=$(subcommands)

# fits NAME: no line of the help text is wider than a terminal.
fits() {
    if awk 'length > 80 { exit 1 }' "$T/out"; then ok "$1"; else not_ok "$1" "$(cat "$T/out")"; fi
}

succeeds "--help" --help
fits "  fits 80 columns"
for command in $commands; do
    if grep -q "^  $command " "$T/out"; then ok "  names $command"; else not_ok "  names $command"; fi
done
succeeds "--version" --version
shows '^tinca [0-9]+\.[0-9]+' "  prints the version"
if [ "$(head -n 1 "$T/out" | grep -Ec '^tinca [0-9]+\.[0-9]+\.[0-9]+$')" = 1 ]; then
    ok "  alone in the first line"
else
    not_ok "  alone in the first line" "$(head -n 1 "$T/out")"
fi
fits "  fits 80 columns"
for part in commit compiler options system BLAS kernels 'in use' CUDA MPI charts ONNX TensorBoard protobuf-c libpng libjpeg \
    ncurses cJSON zlib; do
    shows "^  .*$part +[^ ]" "  says $part"
done
# The modules are named with the program's folder, which may lie among the sources.
if grep -v '/tinca-[a-z]*\.so$' "$T/out" | grep -qF "$(cd "$srcdir" && pwd)"; then
    not_ok "  names no folder of the sources" "$(cat "$T/out")"
else
    ok "  names no folder of the sources"
fi
commit=$(sh "$srcdir/src/cli/build_commit.sh" name "$srcdir")
shows "^  commit +${commit:-unknown}$" "  the commit is that of the sources"
for arguments in '--version --json' 'networks --json --version' 'train --version --json'; do
    # shellcheck disable=SC2086 # two words
    run $arguments
    if [ "$status" = 0 ] && [ "$("$JSON_LOOK" "$T/out" version)" = "$("$TINCA" --version | sed -n '1s/^tinca //p')" ] &&
        [ -n "$("$JSON_LOOK" "$T/out" libraries.zlib)" ] && [ -n "$("$JSON_LOOK" "$T/out" blas)" ]; then
        ok "$arguments is a JSON document"
    else
        not_ok "$arguments is a JSON document" "$(cat "$T/out" "$T/err")"
    fi
done
for command in $commands; do
    succeeds "$command --help" "$command" --help
    fits "  fits 80 columns"
    shows "^Usage: tinca $command" "  shows the usage"
    succeeds "$command --version" "$command" --version
    refuses 2 "$command --help" "$command with an unknown option" "$command" --nonsense
done

# --- tinca help ---
"$TINCA" --help >"$T/all"
succeeds "help" help
if cmp -s "$T/all" "$T/out"; then ok "  lists the commands"; else not_ok "  lists the commands" "$(diff "$T/all" "$T/out")"; fi
"$TINCA" find-rate --help >"$T/one"
succeeds "help of a command" help find-rate
if cmp -s "$T/one" "$T/out"; then ok "  is its --help"; else not_ok "  is its --help" "$(diff "$T/one" "$T/out")"; fi
refuses 2 "did you mean find-rate" "help of a misspelt command" help find-rat
refuses 2 "no such command" "help of an unknown command" help nonsense
refuses 2 "too many|more than" "help of two commands" help train info
# on_terminal PATH: what help prints on a terminal, where programs are found in PATH
on_terminal() {
    PATH=$1 "$script" -qec "'$program' help find-rate" /dev/null </dev/null | tr -d '\r' >"$T/out"
}
case $TINCA in /*) program=$TINCA ;; *) program=$PWD/$TINCA ;; esac
if script=$(command -v script); then
    mkdir "$T/bin" "$T/empty"
    printf '#!/bin/sh\necho "man $*"\n' >"$T/bin/man"
    chmod +x "$T/bin/man"
    on_terminal "$T/bin:$PATH"
    shows '^man (-l /.*/man/)?tinca-find-rate' "help on a terminal shows the manual page"
    on_terminal "$T/empty"
    shows '^Usage: tinca find-rate' "help on a terminal without man is that of --help"
else
    skip "help on a terminal" "there is no script(1) here"
fi

refuses 2 "tinca --help" "an unknown command" nonsense
refuses 2 "did you mean train" "a misspelt command" trian
refuses 2 "did you mean --batch" "a misspelt option" train lenet --data digits --bacth 3
refuses 2 "needs a value" "an option without its value" train lenet --data
refuses 2 "takes no value" "a switch with a value" info lenet --json=3
refuses 2 "too many|no arguments" "an argument too many" info lenet alexnet
refuses 2 "no arguments" "an argument where none is taken" devices gpu
refuses 2 "more arguments" "a missing argument" info
refuses 2 "more arguments" "predict without a picture" predict model.safetensors
refuses 2 "such option" "an unknown short option" train -z

refuses 2 "more arguments" "resume without a run" resume
refuses 2 "no such run|no runs" "resume of an unknown run" resume nosuchrun
refuses 2 "no run is in progress" "attach without a run in progress" attach
refuses 2 "no such run|no runs" "attach to an unknown run" attach nosuchrun
refuses 2 "too many|more than|one" "attach to two runs" attach one two
refuses 2 "would change what the run computes" "resume with another learning rate" \
    resume nosuchrun --lr 0.1
refuses 2 "no network was named" "train without a network" train
refuses 2 "shapes, digits, tench, maps" "train without data names the built-in sets" train lenet
refuses 2 "one of them" "both epochs and iterations" \
    train lenet --data digits --epochs 2 --iterations 3
refuses 2 "whole number" "a batch of 0" train lenet --data digits --batch 0
refuses 2 "whole number" "an invalid batch" train lenet --data digits --batch many
refuses 2 "whole number" "a negative batch" train lenet --data digits --batch -5
refuses 2 "lr" "an invalid learning rate" train lenet --data digits --lr nan
refuses 2 "sgd, nesterov, adam" "an unknown solver" train lenet --data digits --solver sdg
refuses 2 "overfit, cifar" "an unknown preset" train lenet --data digits --preset none
refuses 2 "lenet" "an unknown network; the message lists the known ones" train nosuchnet --data shapes
refuses 2 "tinca datasets|kind" "an unknown kind of data" train lenet --data nonsense
refuses 2 "contradict" "a name and an option that contradict each other" \
    info resnet20-shift --technique dsc
refuses 2 "leave out --widths" "--widths for a network that refuses it" info lenet --widths 100
refuses 2 "leave out --activation" "--activation for a network that refuses it" \
    train lenet --data digits --activation tanh
refuses 2 "512,256" "invalid widths" info mlp --widths wide
refuses 2 "relu, leaky_relu, .*, tanh" "an unknown activation" info mlp --activation step
refuses 2 "devices|device" "an unknown device" info lenet --device abacus
refuses 2 "does not exist" "a missing folder for --save" \
    train lenet --data digits --save "$T/no/where.safetensors"
refuses 2 "folder" "a folder given as --export" train lenet --data digits --export "$T"
refuses 2 "train, infer" "an unknown mode" bench lenet --mode both
refuses 2 "no file was named" "export of a picture without -o" export x --format png
refuses 2 "no such run|no runs" "an unknown run" export nosuchrun -o "$T/x.json"
refuses 2 "give --data" "eval without data" eval model.safetensors
refuses 2 "terminal" "the workbench without a terminal" ui
run
if [ "$status" = 2 ] && grep -q '^tinca: ' "$T/err"; then
    ok "tinca without a command opens the workbench"
else
    not_ok "tinca without a command opens the workbench" "exit $status: $(told)"
fi

"$TINCA" networks >/dev/full 2>"$T/err"
if [ $? = 1 ] && grep -q '^tinca: standard output' "$T/err"; then
    ok "a full disk behind standard output is a failure"
else
    not_ok "a full disk behind standard output is a failure" "$(told)"
fi
# --- commands that only read create nothing, least of all a home directory that does not exist ---
run train lenet --data digits,limit=20 --batch 10 --iterations 2 --threads 1 -q --run-dir "$T/run" --save "$T/m.safetensors"
[ "$status" = 0 ] || not_ok "a run to look at" "$(told)"
# nowhere ARGUMENT...: runs the program without any folder of its own
nowhere() {
    env -u XDG_STATE_HOME -u XDG_CONFIG_HOME -u XDG_CACHE_HOME HOME="$T/nowhere" "$TINCA" "$@" >"$T/out" 2>"$T/err" </dev/null
    if [ -e "$T/nowhere" ]; then
        not_ok "tinca $1 creates no home" "$(find "$T/nowhere")"
        rm -rf "$T/nowhere"
    else
        ok "tinca $1 creates no home"
    fi
}
nowhere runs
[ -s "$T/err" ] && not_ok "  and lists no run" "$(told)" || ok "  and lists no run"
nowhere runs --json
is "  an empty list" "runs.#" 0
nowhere runs --check
[ -s "$T/err" ] && not_ok "  and finds nothing wrong" "$(told)" || ok "  and finds nothing wrong"
nowhere runs --check "$T/run"
nowhere attach
nowhere models
nowhere models "$T/m.safetensors" --only
nowhere networks
nowhere datasets
nowhere devices
nowhere info lenet
nowhere info "$T/m.safetensors"
nowhere compare "$T/run"
nowhere tables trindade
nowhere advise "$T/run" --need faster
nowhere explain "$T/run"
nowhere export "$T/run" -o "$T/run.json"
nowhere resume nothing
nowhere weights "$T/m.safetensors"
nowhere eval "$T/m.safetensors" --data digits,limit=10
nowhere bench lenet --mode infer --iterations 2
nowhere completion bash
nowhere sweep --networks lenet --data digits --dry-run
nowhere runs --empty-trash --yes
nowhere runs --undelete
nowhere find-rate lenet --data digits,limit=40 --batch 10 --iterations 30 --threads 1
nowhere study lenet
done_testing

#!/bin/sh
# What the program says about itself, and how it refuses what it does not understand.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"

commands=$(subcommands)

# No line of a help text is wider than a terminal.
fits() {
    if awk 'length > 80 { exit 1 }' "$T/out"; then ok "$1"; else not_ok "$1" "$(cat "$T/out")"; fi
}

succeeds "--help" --help
fits "  fits 80 columns"
for command in $commands; do
    if grep -q "^  $command " "$T/out"; then ok "  names $command"; else not_ok "  names $command"; fi
done
succeeds "--version" --version
shows '^tinca [0-9]+\.[0-9]+' "  says the version"
for command in $commands; do
    succeeds "$command --help" "$command" --help
    fits "  fits 80 columns"
    shows "^Usage: tinca $command" "  shows how to call it"
    succeeds "$command --version" "$command" --version
    refuses 2 "$command --help" "$command with an unknown option" "$command" --nonsense
done

refuses 2 "tinca --help" "an unknown command" nonsense
refuses 2 "did you mean train" "a misspelt command" trian
refuses 2 "did you mean --batch" "a misspelt option" train lenet --data digits --bacth 3
refuses 2 "needs a value" "an option without its value" train lenet --data
refuses 2 "takes no value" "a switch with a value" info lenet --json=3
refuses 2 "too many|no arguments" "an argument too many" info lenet alexnet
refuses 2 "no arguments" "an argument where none is taken" devices gpu
refuses 2 "more arguments" "a missing argument" info
refuses 2 "more arguments" "predict without a picture" predict model.safetensors
refuses 2 "such option" "an unknown letter" train -z

refuses 2 "more arguments" "resume without a run" resume
refuses 2 "no such run|no runs" "resume of a run that is not there" resume nosuchrun
refuses 2 "no run is in progress" "attach without a run in progress" attach
refuses 2 "no such run|no runs" "attach to a run that is not there" attach nosuchrun
refuses 2 "too many|more than|one" "attach to two runs" attach one two
refuses 2 "would change what the run computes" "resume with another learning rate" \
    resume nosuchrun --lr 0.1
refuses 2 "no network was named" "train without a network" train
refuses 2 "shapes, digits, tench, maps" "train without data names the built-in sets" train lenet
refuses 2 "one of them" "both epochs and iterations" \
    train lenet --data digits --epochs 2 --iterations 3
refuses 2 "whole number" "a batch of 0" train lenet --data digits --batch 0
refuses 2 "whole number" "a batch that is no number" train lenet --data digits --batch many
refuses 2 "whole number" "a negative batch" train lenet --data digits --batch -5
refuses 2 "lr" "a learning rate that is no number" train lenet --data digits --lr nan
refuses 2 "sgd, nesterov, adam" "an unknown solver" train lenet --data digits --solver sdg
refuses 2 "overfit, cifar" "an unknown preset" train lenet --data digits --preset none
refuses 2 "lenet" "a network that is not there names those that are" train nosuchnet --data shapes
refuses 2 "tinca datasets|kind" "a kind of data that is not there" train lenet --data nonsense
refuses 2 "contradict" "a name and an option that contradict each other" \
    info resnet20-shift --technique dsc
refuses 2 "leave out --widths" "widths of a network that has none" info lenet --widths 100
refuses 2 "leave out --activation" "an activation of a network that has none to choose" \
    train lenet --data digits --activation tanh
refuses 2 "512,256" "widths that are no numbers" info mlp --widths wide
refuses 2 "relu, tanh, sigmoid" "an unknown activation" info mlp --activation step
refuses 2 "devices|device" "a device of no such name" info lenet --device abacus
refuses 2 "does not exist" "a folder for --save that is not there" \
    train lenet --data digits --save "$T/no/where.safetensors"
refuses 2 "folder" "a folder given as --export" train lenet --data digits --export "$T"
refuses 2 "train, infer" "an unknown mode" bench lenet --mode both
refuses 2 "no file was named" "a picture without a file" export x --format png
refuses 2 "no such run|no runs" "a run that is not there" export nosuchrun -o "$T/x.json"
refuses 2 "give --data" "eval without data" eval model.safetensors
refuses 2 "terminal" "the workbench without a terminal" ui
run
if [ "$status" = 2 ] && grep -q '^tinca: ' "$T/err"; then
    ok "no command at all is the workbench too"
else
    not_ok "no command at all is the workbench too" "exit $status: $(told)"
fi

"$TINCA" networks >/dev/full 2>"$T/err"
if [ $? = 1 ] && grep -q '^tinca: standard output' "$T/err"; then
    ok "a full disk behind standard output is a failure"
else
    not_ok "a full disk behind standard output is a failure" "$(told)"
fi
done_testing

#!/bin/sh
# The figures of the machine: the first command that computes measures and stores them, later ones use
# them, --tune measures again, and a cache that is damaged or cannot be written stops nothing. The test
# never looks at how large a figure is.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/faults/hold.sh"

XDG_CACHE_HOME=$T/own
file=$XDG_CACHE_HOME/tinca/machines.json
network="lenet --mode infer --device cpu --threads 2"

succeeds "devices knows no figures at first" devices --json
is "  as it says" machine.measured false
is "  and where they would be" machine.file "$file"
succeeds "  in words, too" devices
shows "have not been measured" "  with what to do"
[ ! -e "$file" ] && ok "  and it stores none" || not_ok "  and it stores none"

succeeds "info measures them" info $network --json
is "  and says so" machine.source measured
is "  the file has a format" format tinca-machines "$file"
has "  and figures" machines.0.seconds.conv_multiply_add_2 "$file"
cp "$file" "$T/first.json"
succeeds "a second command" info $network --json
is "  reads them" machine.source stored
succeeds "bench uses them" bench $network --iterations 2 --json
cmp -s "$file" "$T/first.json" && ok "  and measures nothing" || not_ok "  and measures nothing"
succeeds "info says it in words" info $network
shows "^Chosen by the stored figures of this machine" "  at its end"

old=$(ls -i "$file")
succeeds "bench --tune" bench $network --iterations 2 --tune --json
[ "$old" != "$(ls -i "$file")" ] && ok "  replaces the file" || not_ok "  replaces the file"
succeeds "devices --tune" devices --tune --json
is "  has figures" machine.measured true
is "  which it has stored" machine.source measured
has "  for each kind of work" machine.seconds.hand_over
succeeds "devices shows them" devices
shows "^Their file: $file" "  and their file"
succeeds "info --tune measures" info $network --tune --json
is "  and says so" machine.source measured
TINCA_CPU=generic
export TINCA_CPU
succeeds "another instruction set" info $network --json
is "  has its own figures" machine.source measured
is "  beside the others" machines.# 2 "$file"
unset TINCA_CPU
succeeds "which remain" info $network --json
is "  as they were" machine.source stored

echo '{"format": "tinca-machines", "vers' >"$file"
succeeds "a damaged file" info $network --json
is "  is replaced" machine.source measured
has "  by a whole one" machines.0.processor "$file"
echo '{"format": "tinca-machines", "version": 99, "machines": []}' >"$file"
succeeds "a file of another version" info $network --json
is "  is replaced, too" machine.source measured
rm "$file" && mkfifo "$file"
succeeds "a FIFO stops nothing" info $network --json
rm -f "$file"

XDG_CACHE_HOME=/dev/null
succeeds "a cache that cannot be written" info $network --json
is "  leads to fixed rules" machine.source fixed
succeeds "  with the reason in words" info $network
shows "^Chosen by fixed rules" "  at its end"
succeeds "bench computes then" bench $network --iterations 2 --json
succeeds "also with --tune" bench $network --iterations 2 --tune --json
succeeds "info --tune measures for itself" info $network --tune --json
is "  and says that it is not stored" machine.source unstored
succeeds "devices --tune, too" devices --tune --json
is "  and has figures" machine.measured true
if [ "$(id -u)" = 0 ]; then
    skip "a folder without permission" "root may write everywhere"
else
    XDG_CACHE_HOME=$T/closed
    mkdir -p "$XDG_CACHE_HOME/tinca"
    chmod 500 "$XDG_CACHE_HOME/tinca"
    succeeds "a folder without permission" info $network --json
    is "  leads to fixed rules" machine.source fixed
fi
refuses 2 "no such option" "commands that do not compute have no --tune" runs --tune

# Figures with which direct convolution, or Winograd's, is always predicted to be faster.
figures() { # figures NAME DIRECT WINOGRAD
    XDG_CACHE_HOME=$T/$1
    succeeds "figures for $1" devices --tune --json
    for threads in 1 3; do run info $network --threads $threads; done
    sed -e "s/\"conv_multiply_add_\(.\)\":[^,]*/\"conv_multiply_add_\1\": $2/" \
        -e "s/\"winograd_multiply_add_\(.\)\":[^,]*/\"winograd_multiply_add_\1\": $3/" \
        "$XDG_CACHE_HOME/tinca/machines.json" >"$T/figures"
    cp "$T/figures" "$XDG_CACHE_HOME/tinca/machines.json"
}
figures direct 1e-12 1e-6
figures winograd 1e-6 1e-12
picture=resnet20
XDG_CACHE_HOME=$T/direct
succeeds "info shows the choice" info $picture --mode infer --device cpu --json
shows '"kernel_choice":.*conv blocked chosen;.*; predicted .* us, conv winograd .* us"' "  with both times"
succeeds "bench records it" bench $picture --mode infer --iterations 2 --json
has "  layer by layer" "chosen.conv blocked.15"
XDG_CACHE_HOME=$T/winograd
succeeds "bench with other figures" bench $picture --mode infer --iterations 2 --json
has "  records the other kernel" "chosen.conv winograd.15"

# A run computes all of its validations with the kernels that it chose at its start, also after resume.
data="--data shapes,limit=40 --validate shapes,split=test,limit=20"
job="$picture --device cpu $data --batch 20 --epochs 6 --seed 3 --threads 1"
often="--checkpoint 0.01 --checkpoint-share 100"
runs=$XDG_STATE_HOME/tinca/runs
losses() { journal_lines "$1/journal" | sed -n 's/.*"event":"validation",\(.*\),"seconds".*/\1/p'; }
XDG_CACHE_HOME=$T/direct
succeeds "a run with direct convolutions" train $job --run-dir "$T/whole" -q
journal_lines "$T/whole/journal" | head -n 1 >"$T/start"
has "  in its first event" "chosen.conv blocked.15" "$T/start"
rm -rf "$runs"
hold 7 train $job $often # an epoch has two iterations: with three checkpoints it has been validated
let_go KILL
has_line '"event":"validation"' "$runs"/*/journal && ok "a run is killed after a validation" ||
    not_ok "a run is killed after a validation" "$(journal_lines "$runs"/*/journal)"
XDG_CACHE_HOME=$T/winograd
run runs --json
id=$("$JSON_LOOK" "$T/out" runs.0.id)
is "  which is interrupted" runs.0.status interrupted
succeeds "it is tuned anew and resumed with 3 threads" resume "$id" --threads 3 -q
if [ "$(losses "$runs/$id")" = "$(losses "$T/whole")" ]; then
    ok "  with the same validations"
else
    not_ok "  with the same validations" "$(losses "$runs/$id"; losses "$T/whole")"
fi
cmp -s "$runs/$id/best.safetensors" "$T/whole/best.safetensors" && ok "  and the same best model" ||
    not_ok "  and the same best model"
rm -rf "$runs"
succeeds "a run with Winograd's" train $job --run-dir "$T/other" -q
[ "$(losses "$T/other")" != "$(losses "$T/whole")" ] && ok "  has other last digits" ||
    not_ok "  has other last digits"
cmp -s "$T/other/weights.safetensors" "$T/whole/weights.safetensors" && ok "  but the same weights" ||
    not_ok "  but the same weights"
succeeds "eval" eval "$T/other" --threads 2 --json
has "  records the kernels" "chosen.conv winograd.15"
succeeds "measure" measure "$T/other" --images 10 --threads 2 --json
shows '"chosen":.*"conv winograd 16, crc32 ' "  records them in short"
shows_in_file=$(grep -c '"chosen":.*conv winograd 16' "$T/other/measurements.json")
[ "$shows_in_file" = 1 ] && ok "  and in the run's folder" || not_ok "  and in the run's folder"
done_testing

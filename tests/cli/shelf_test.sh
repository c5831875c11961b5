#!/bin/sh
# Names of runs, reports, and tinca devices.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
cd "$T" || exit 99

for seed in 1 2; do
    succeeds "run $seed" train mlp --data digits,limit=64 --batch 16 --iterations 3 --threads 1 \
        --seed $seed -q
    sleep 1 # IDs are sorted by the second
done
run runs --json
first=$("$JSON_LOOK" "$T/out" runs.0.id) second=$("$JSON_LOOK" "$T/out" runs.1.id)
is "a run has no name at first" runs.0.name null
echo "my study" >"$T/state/tinca/runs/$first/name.txt"
run runs --json
is "then it has a name" runs.0.name "my study"
run runs
shows "^$first +my study +done" "tinca runs shows the name"
succeeds "a run is exported by its name" export "my study" -o named.json
is "  the run of that name" runs.0.id "$first" named.json
echo "my study" >"$T/state/tinca/runs/$second/name.txt"
refuses 2 "2 runs are called so" "a name that two runs have" export "my study" -o twice.json
cp -r "state/tinca/runs/$first" here
refuses 2 "no run is called so; the folder that is here is ./here" "a folder without a slash" export here -o here.json
succeeds "  with one" export ./here -o here.json

succeeds "a report" export "$first" "$second" --format md --picture curves.png -o report.md
for words in '^# Report of 2 runs' '!\[The curves\](<curves.png>)' '^## Comparison' \
    '| training | .* ms an image (mean, 95 % interval) |' '| measured: highest | .*iB |' \
    'not measured: tinca measure'; do
    grep -q "$words" report.md && ok "  contains $words" || not_ok "  contains $words" "$(head -c 600 report.md)"
done
[ -s curves.png ] && ok "  and its picture exists" || not_ok "  and its picture exists"
refuses 2 "belongs to a report" "--picture without a report" export "$first" --picture a.png -o b.json

succeeds "devices" devices --json
has "  the instruction sets" processor.instruction_sets
has "  the free memory" memory.available_bytes
has "  the GPUs" "gpus.#"
if [ -f "$(dirname "$JSON_LOOK")/fake_nvml.so" ] || [ -f "$OLDPWD/fake_nvml.so" ]; then
    fake=$(dirname "$JSON_LOOK")/fake_nvml.so
    [ -f "$fake" ] || fake=$OLDPWD/fake_nvml.so
    mkdir lib && cp "$fake" lib/libnvidia-ml.so.1
    LD_LIBRARY_PATH="$T/lib" "$TINCA" devices --json >"$T/out"
    is "  a GPU with its name" gpus.0.name "Fake Accelerator"
    is "  a utilisation of 0 is a number" gpus.0.utilisation_percent 0
    is "  a value that is not available is null" gpus.1.power_watts null
else
    skip "  a GPU" "the stand-in library was not built"
fi
done_testing

#!/bin/sh
# Exported sessions are valid against docs/session.schema.json, and the schema is strict enough to refuse
# other documents.
reason=
python=python3 # or the system's Python, if another one comes first in PATH
judge='from jsonschema import Draft202012Validator'
$python -c "$judge" 2>/dev/null || python=/usr/bin/python3
$python -c "$judge" 2>/dev/null || reason='python3-jsonschema (4 or later) is not installed'
[ -x "$TINCA" ] || reason='the program has not been built'
if [ -n "$reason" ]; then
    echo "1..0 # SKIP $reason"
    exit 0
fi
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
XDG_STATE_HOME=$dir/state
export XDG_STATE_HOME

number=0
check() {
    number=$((number + 1))
    name=$1
    shift
    if "$@" >"$dir/log" 2>&1; then
        echo "ok $number - $name"
    else
        echo "not ok $number - $name"
        sed 's/^/# /' "$dir/log"
    fi
}
valid() {
    $python - "$srcdir/docs/session.schema.json" "$1" <<'PYTHON'
import json, sys, jsonschema
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
def refuse(name):
    raise ValueError(name + " is not JSON")
session = json.load(open(sys.argv[2]), parse_constant=refuse)
jsonschema.Draft202012Validator(schema).validate(session)
run = session["runs"][0]
assert len({len(column) for column in run["series"].values()}) == 1, "columns of unequal length"
assert len({len(column) for column in run["validation"].values()}) == 1
assert (min(x for x in run["series"]["loss_caffe"] if x is not None) < 0) == any(
    f["kind"] == "negative-loss" for f in run["findings"]), "negative-loss finding"
assert all(x is not None for x in run["series"]["loss"]) or run["findings"], "null without finding"
PYTHON
}
spoilt() {
    $python - "$srcdir/docs/session.schema.json" "$dir/done.json" <<'PYTHON'
import copy, json, sys, jsonschema
validator = jsonschema.Draft202012Validator(json.load(open(sys.argv[1])))
good = json.load(open(sys.argv[2]))
def spoil(change):
    session = copy.deepcopy(good)
    change(session, session["runs"][0])
    assert not validator.is_valid(session), change.__name__
def unknown_setting(s, r): r["config"]["surprise"] = 1
def text_for_number(s, r): r["series"]["loss"][0] = "2.3"
def unknown_status(s, r): r["status"] = "flying"
def unknown_finding(s, r): r["findings"].append({"kind": "x", "iteration": 1, "epoch": 0, "text": "x"})
def failed_without_error(s, r): r["status"] = "failed"; r["error"] = None
def missing_column(s, r): del r["series"]["loss_mean"]
def two_lengths(s, r): r["config"]["iterations"] = 3; r["config"]["epochs"] = 1
def no_length(s, r): r["config"].pop("epochs", None); r["config"].pop("iterations", None)
def odd_version(s, r): s["version"] = 4
def scalar_without_time(s, r): r["scalars"]["x"] = {"step": [1], "value": [0.5]}
def text_for_size(s, r): r["model"]["bytes"] = "many"
def data_without_kind(s, r): del r["data"]["training"]["kind"]
def number_in_command(s, r): r["command"][0] = 1
def measurement_without_times(s, r): r["measurements"] = [{"device": "cpu"}]
def without_seed(s, r): del r["config"]["seed"]
def without_batch(s, r): del r["config"]["batch"]
for change in (unknown_setting, text_for_size, data_without_kind, number_in_command, measurement_without_times, text_for_number, unknown_status, unknown_finding,
               failed_without_error, missing_column, two_lengths, no_length, odd_version, scalar_without_time,
               without_seed, without_batch):
    spoil(change)
def accept(change):
    session = copy.deepcopy(good)
    change(session, session["runs"][0])
    validator.validate(session)
def scalars(s, r): r["scalars"]["any name"] = {"step": [1], "time": [None], "value": [0.5]}
def second_version(s, r): s["version"] = 2; del r["scalars"]
def later_member(s, r): r["moons"] = 8; s["later"] = s["host"]["later"] = s["tinca"]["later"] = []
def first_version(s, r):
    s["version"] = 1
    for key in ("name", "tags", "note", "command", "software", "network", "data", "model", "disk_bytes",
                "measurements"):
        del r[key]
for change in (later_member, first_version, second_version, scalars):
    accept(change)
PYTHON
}
# everything that tinca writes is described: the members of the objects to which later programs may add some
described() {
    $python - "$srcdir/docs/session.schema.json" "$1" <<'PYTHON'
import json, sys
schema, session = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
defs, run = schema["$defs"], session["runs"][0]
for members, described in ((session, schema), (session["host"], defs["host"]), (session["tinca"], defs["program"]),
                           (run, defs["run"]), (run["software"], defs["software"])):
    unknown = set(members) - set(described["properties"])
    assert not unknown, unknown
assert run["command"][1:3] == ["train", "mlp"] and run["command"][-1] == "-q", run["command"]
assert run["software"]["tinca"] == session["tinca"]["version"] and run["software"]["compiler"]
assert run["software"]["kernel"] and run["software"]["numerics"] and run["software"]["kernels"]
assert run["network"]["layers"] and "crc32" not in run["network"]
assert run["data"]["training"]["images"] == 64 and run["data"]["validation"]["kind"] == "digits"
assert (run["name"], run["tags"], run["note"]) == ("first", ["a", "b"], "two words")
assert run["model"]["file"] == "best.safetensors" and run["model"]["bytes"] > 1000
assert run["disk_bytes"] > run["model"]["bytes"]
measured = run["measurements"][0]
assert measured["device"] == "cpu" and measured["images"] == 32 and measured["ms_per_image"]["mean"] > 0
PYTHON
}

"$TINCA" train mlp --data digits,limit=64 --validate digits,limit=32 --batch 16 --epochs 2 \
    --seed 1 --name first --tag a --tag b --note 'two words' -q >"$dir/out" 2>&1
"$TINCA" measure first >"$dir/out" 2>&1
"$TINCA" export first -o "$dir/done.json" >"$dir/out" 2>&1
imported() {
    $python - "$srcdir/docs/session.schema.json" "$1" <<'PYTHON'
import copy, json, sys, jsonschema
validator = jsonschema.Draft202012Validator(json.load(open(sys.argv[1])))
session = json.load(open(sys.argv[2]))
validator.validate(session)
config = session["runs"][0]["config"]
assert "seed" not in config and "threads" not in config, "an unknown setting has a default value"
def refused(change):
    spoilt = copy.deepcopy(session)
    change(spoilt["runs"][0])
    assert not validator.is_valid(spoilt), change.__name__
def passed_off_as_own(r): del r["imported"]
def without_network(r): del r["config"]["network"]
def of_no_framework(r): r["imported"]["framework"] = "abacus"
for change in (passed_off_as_own, without_network, of_no_framework):
    refused(change)
PYTHON
}

check "a finished run is valid" valid "$dir/done.json"
check "everything in it is described, and it says how the run came about" described "$dir/done.json"
check "the schema accepts later members and the first version, and refuses documents that are no session" spoilt
"$TINCA" train mlp --data digits,limit=64 --batch 16 --epochs 2 --lr 1000000 \
    --export "$dir/diverged.json" -q >"$dir/out" 2>&1
check "a run that diverged is valid, its losses null" valid "$dir/diverged.json"
check "tinca export writes such a file" sh -c \
    '"$TINCA" export "$("$TINCA" runs --json | python3 -c "import json,sys; print(json.load(sys.stdin)[\"runs\"][0][\"id\"])")" -o "$1/again.json"' sh "$dir"
check "it is valid, too" valid "$dir/again.json"
cat >"$dir/pair.json" <<'NETWORK'
{"name": "pair", "input": [3, 16, 16], "normalise": "signed", "loss": "l1_loss",
 "layers": [{"block": "unet", "width": 4, "widest": 8, "steps": 2, "dropout_steps": 1},
            {"op": "tanh"}],
 "discriminator": {"layers": [{"op": "conv", "output": 1, "kernel": 4, "stride": 2, "pad": 1}]}}
NETWORK
"$TINCA" train "$dir/pair.json" --data maps,limit=2 --validate maps,limit=2 --batch 1 --epochs 2 \
    --solver adam --lr 0.0002 --schedule linear --export "$dir/pair-run.json" -q >"$dir/out" 2>&1
check "a run with a discriminator is valid" valid "$dir/pair-run.json"
check "and has the losses of both networks" sh -c 'grep -q "\"loss_discriminator\":\[[0-9]" "$1" &&
    grep -q "\"pixel_accuracy\":\[[0-9]" "$1"' sh "$dir/pair-run.json"
# a profile, as the workbench stores it
python3 - "$XDG_STATE_HOME" <<'PYTHON'
import glob, json, sys
layer = {"name": "conv", "op": "conv", "kernel": "k", "choice": "k chosen", "memory_bytes": 0,
         "forward_seconds": 1e-3, "backward_seconds": None, "forward_flops": 1, "backward_flops": 2,
         "output": [1, 2, 3]}
network = {"name": "network", "layers": [layer], "weights": [],
           "gemm": [{"kind": "nt", "shape": [1, 2, 3], "calls": 4, "seconds": 0.5}]}
profile = {"format": "tinca-profile", "version": 1, "iteration": 1, "iterations": 2, "images": 2,
           "threads": 1, "seconds": 0.1, "cost": 0.01, "networks": [network, network], "arenas": []}
for run in glob.glob(sys.argv[1] + "/tinca/runs/*pair*"):
    json.dump(profile, open(run + "/profile.json", "w"))
PYTHON
"$TINCA" export "$("$TINCA" runs --json | python3 -c 'import json, sys
print([run["id"] for run in json.load(sys.stdin)["runs"] if "pair" in run["id"]][0])')" \
    -o "$dir/looked.json" >"$dir/out" 2>&1
check "a run with a profile is valid" valid "$dir/looked.json"
check "and the session has the profile of both networks" python3 -c 'import json, sys
profile = json.load(open(sys.argv[1]))["runs"][0]["profile"]
assert profile["iterations"] == 2 and profile["layers"][0]["output"] == [1, 2, 3]
assert profile["discriminator"]["gemm"][0]["shape"] == [1, 2, 3]' "$dir/looked.json"
for log in caffe.txt tensorflow.txt keras.txt loss_titan_caffe.csv times_titan_tensorflow.csv; do
    "$TINCA" import "$srcdir/tests/cli/logs/$log" --json >"$dir/import.json" 2>"$dir/err"
    "$TINCA" export "$(python3 -c 'import json, sys
print(json.load(open(sys.argv[1]))["runs"][0]["id"])' "$dir/import.json")" \
        -o "$dir/imported.json" >"$dir/out" 2>&1
    check "imported from $log: valid without unknown values, and only if marked as imported" \
        imported "$dir/imported.json"
done
for i in 1 2 3; do echo "{\"step\": $i, \"loss\": 2.5}"; done |
    XDG_STATE_HOME=$dir/others "$TINCA" watch - -q >"$dir/out" 2>&1
XDG_STATE_HOME=$dir/others "$TINCA" export --all -o "$dir/watched.json" >"$dir/out" 2>&1
check "a watched run, whose length is not known, is valid" imported "$dir/watched.json"
check "  it has no length" python3 -c 'import json, sys
run = json.load(open(sys.argv[1]))["runs"][0]
assert not {"epochs", "iterations"} & set(run["config"]) and len(run["series"]["loss"]) == 3' "$dir/watched.json"
"$TINCA" train mlp --data digits,limit=64 --batch 16 --iterations 0 --export "$dir/none.json" -q >"$dir/out" 2>&1
check "a run of no iterations is valid" "$python" -c 'import json, sys, jsonschema
schema, session = (json.load(open(path)) for path in sys.argv[1:])
jsonschema.Draft202012Validator(schema).validate(session)
assert session["runs"][0]["config"]["iterations"] == 0' "$srcdir/docs/session.schema.json" "$dir/none.json"
printf '{"step": 1, "loss": 2.5, "time": 0.9}\n{"step": 2, "loss": 2.25, "time": 0.7}\n' >"$dir/durations.jsonl"
XDG_STATE_HOME=$dir/third "$TINCA" import "$dir/durations.jsonl" --json >"$dir/out" 2>&1
XDG_STATE_HOME=$dir/third "$TINCA" export --all -o "$dir/durations.json" >"$dir/out" 2>&1
check "an imported run whose times go back is valid" imported "$dir/durations.json"
check "  it has no duration" python3 -c 'import json, sys
assert json.load(open(sys.argv[1]))["runs"][0]["timing"]["total_seconds"] is None' "$dir/durations.json"
"$TINCA" train mlp --data digits,limit=64,validate=0.2 --test digits,limit=32 --batch 16 --epochs 1 \
    --export "$dir/tested.json" -q >"$dir/out" 2>&1
check "a run with a test set is valid" valid "$dir/tested.json"
check "  and has the result" python3 -c 'import json, sys
test = json.load(open(sys.argv[1]))["runs"][0]["test"]
assert test["images"] == 32 and test["epoch"] == 1 and test["loss"] > 0' "$dir/tested.json"
echo "1..$number"

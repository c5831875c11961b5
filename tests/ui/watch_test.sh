#!/bin/sh
# tinca watch in the workbench: the run of another program's table on the run screen, live, at two sizes; the
# runs are complete when the workbench is left.
srcdir=${srcdir:-.}
. "$srcdir/tests/ui/screen.sh"
need_tmux "tinca watch"
cd "$T" || exit 99

printf 'step,train_loss,val_acc,val_loss\n1,4,,\n2,3,0.25,3.5\n3,2,,\n' >train.csv
printf '{"step": 1, "loss": 2}\n{"step": 2, "loss": 1, "lr": 0.25}\n' >other.jsonl
screen_start 80x24 C.UTF-8 "$TINCA" watch train.csv other.jsonl --lines-not-there
ended "an option that does not exist"

screen_start 80x24 C.UTF-8 sh -c "\"$TINCA\" watch train.csv other.jsonl --network mine; echo status \$?; sleep 600"
screen_shows 'imported: csv.*mine.*running' "the run screen shows the watched run"
screen_shows 'iteration +3' "  its iterations, of which no number is known"
screen_shows 'top-1 +25' "  the accuracy of its validation"
printf '4,1.5,,\n5,1.25,0.75,1.5\n' >>train.csv
screen_shows 'iteration +5' "  new rows appear"
screen_shows 'top-1 +75' "  and new validations"
screen_shows 'loss +1.25' "  with the loss"
screen_resize 120x40
screen_shows 'iteration +5' "the same at 120x40"
screen_shows 'best iteration 5' "  the best validation has an iteration where no epoch is known"
screen_keys o
screen_shows 'mine +other.jsonl' "the list of runs has their files"
screen_keys a
screen_shows '2 of 2 marked' "  which are marked"
screen_keys c
screen_shows '[12].* other.jsonl +[0-9]' "runs that are compared have their files' names"
screen_shows '[12].* train.csv +[0-9]' "  in the legend"
screen_shows 'mine \(train.csv\) +- +75.00' "  a learning rate that the log does not give is none"
screen_lacks '0\.01' "  and not the default"
screen_keys q
screen_shows 'Runs' "  and back"
screen_keys q
screen_shows 'iteration +5' "  to the run"
screen_keys '?'
screen_shows 'Watching a run' "help"
screen_keys Escape
screen_shows 'iteration +5' "  and back"
screen_keys q
screen_shows 'status 0|other.jsonl|Runs|Set up' "q leaves the screen"
wait_for_end() {
    seen 'status 0' && return
    screen_keys q
    return 1
}
wait_until wait_for_end && ok "the workbench ends" || not_ok "the workbench ends" "$(screen_text)"
screen_shows 'csv, 5 points from train.csv' "the end names what was watched"
run runs --json
is "both runs are there" "runs.#" 2
is "  and complete" runs.0.status stopped
run runs --check
[ "$status" = 0 ] && ok "  and sound" || not_ok "  and sound" "$(told)"

# --- the memory of a process on a GPU, by a stand-in for NVIDIA's library ---
build=$(cd "$(dirname "$TINCA")" && pwd)
if [ -f "$build/fake_nvml.so" ]; then
    mkdir nvml
    ln -s "$build/fake_nvml.so" nvml/libnvidia-ml.so.1
    echo "$$ 3221225472" >on_gpus
    screen_start 100x40 C.UTF-8 env FAKE_NVML_PROCESS="$T/on_gpus" LD_LIBRARY_PATH="$T/nvml${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
        "$TINCA" watch train.csv --pid $$
    screen_shows 'iteration +5' "a watch of a process"
    screen_keys 3
    screen_shows '3.Memory.4' "  has the view Memory"
    screen_shows 'highest on GPUs +3.00 GiB' "  shows the most that it had on GPUs"
    screen_shows 'On GPUs over time, from 0 to 3.00 GiB' "  and draws it over time"
    screen_shows 'Measured over time' "  beside what it had on the host"
else
    skip "the memory on a GPU" "there is no stand-in for NVIDIA's library"
fi
done_testing

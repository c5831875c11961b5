#!/bin/sh
# The list of runs in the real program: sorting, names, copying settings, deletion, the export dialog, the log
# and the devices.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "runs are named, exported and deleted"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
here=$PWD
cd "$T" || exit 99
runs=$XDG_STATE_HOME/tinca/runs
for batch in 16 32; do
    "$TINCA" train mlp --data digits,limit=64 --batch $batch --iterations 4 --threads 1 -q
    sleep 1 # IDs are sorted by the second
done

screen_start 100x30 C.UTF-8 "$TINCA" ui lenet --data digits,limit=320 --epochs 2 --threads 1
screen_wait 'What it takes'
screen_keys o
screen_shows '> +done +mlp.* 32 ' "the newest run is first"
screen_keys '>' '>' '>'
screen_shows 'Runs by batch' "> sorts by another column, which the title names"
screen_shows '> +done +mlp.* 16 ' "the least value comes first"
screen_keys i
screen_shows 'Runs by batch ↓' "i reverses the order"
screen_shows '> +done +mlp.* 32 ' "and the greatest value comes first"
screen_keys Down i
screen_shows '> +done +mlp.* 16 ' "the selection stays on its run"
screen_keys i Up
screen_shows '> +done +mlp.* 32 ' "in either order"
screen_keys R
screen_shows 'A name for this run' "R asks for a name"
screen_keys 'a/b' Enter
screen_shows 'no slashes' "an invalid name is refused with a message"
screen_keys C-u
screen_keys 'my study' Enter
screen_shows 'is called "my study"' "and the run gets it"
screen_shows 'mlp.*my study' "the list shows the name"
succeeds "commands accept the name" export 'my study' -o named.json
run runs --json
is "runs --json tells it" runs.1.name "my study"
run compare 'my study'
shows 'mlp \(my study\)' "the comparison shows the name, too"
screen_keys / 'stud done' Enter
screen_shows '1 of 2 runs' "/ finds it by words of its line"
screen_keys Escape
screen_shows 'mlp.* 16 ' "Esc shows all runs"
screen_keys f
screen_shows 'all settings of run my study' "f copies the run's settings into the form"
screen_shows 'Batch size +32' "all of its settings"
screen_keys o
screen_keys a
screen_shows '2 runs are marked' "a marks all runs"

# --- export ---
screen_keys e
screen_shows 'What .*2 marked runs' "e offers the marked runs"
screen_keys Right Right Right Right Right Right
screen_shows 'a report and its picture' "the cursor begins on the format: Right chooses another"
screen_shows 'tinca-[0-9-]+\.md' "the file name's extension follows"
screen_keys C-u
screen_keys report.md Enter
screen_shows 'Wrote report.md: 2 runs' "the report is written"
grep -q '!\[The curves\](<report.png>)' report.md && [ -s report.png ] &&
    ok "with its picture" || not_ok "with its picture" "$(ls)"
screen_keys e
screen_keys C-u
screen_keys report.md Enter
screen_shows 'Enter again to replace' "an existing file is not replaced at the first Enter"
screen_keys Escape
screen_keys e
screen_keys C-u
screen_keys curves.png
screen_shows 'PNG: a picture' "the format follows a typed extension"
screen_keys Enter
screen_shows 'Wrote curves.png' "the picture is written"
screen_keys e Right
screen_shows 'times_HOST_tinca.csv go' "CSV asks for a folder"
screen_keys C-u
screen_keys tables Enter
screen_shows 'Wrote tables' "which is created"
ls tables/loss_*_tinca.csv tables/times_*_tinca.csv >/dev/null 2>&1 && ok "with the two files" ||
    not_ok "with the two files" "$(ls tables)"

# --- deletion ---
touch "$(ls -d "$runs"/* | head -n 1)/mine.txt"
screen_keys d
screen_shows 'mine.txt" there was not' "a foreign file forbids deletion"
rm -f "$runs"/*/mine.txt
screen_keys d
screen_shows '2 marked runs .*MB' "d asks, with the number and size of the runs"
screen_keys Escape
screen_keys u
screen_shows 'The marks are removed' "u removes the marks"
screen_keys d
screen_shows '1 run, my study' "without marks d asks about the selected run"
screen_keys k
[ "$(ls "$runs" | wc -l)" = 2 ] && ok "k keeps it" || not_ok "k keeps it"
screen_keys d
screen_wait 'Delete'
screen_keys d
screen_shows 'Deleted 1 run' "d deletes it"
[ "$(ls "$runs" | wc -l)" = 1 ] && ok "and no other" || not_ok "and no other" "$(ls "$runs")"
# another process holds the run until it can read a line
mkfifo release
flock "$runs"/*/lock sh -c 'echo >locked; read -r _ <release' &
wait_until test -s locked
screen_keys d
screen_shows 'this run is on' "a run of another process is not deleted"
echo >release
wait

# --- the log ---
screen_keys m l Enter
screen_shows 'Deleted 1 run' "the log lists the actions"
screen_shows '! .*this run is on' "and the errors, the newest last"
screen_keys / report Enter
screen_lacks 'Deleted 1 run' "/ searches it"
screen_keys Escape
screen_keys q
screen_keys n
screen_keys r
screen_shows 'done after|done' "a run is made"
screen_keys m l Enter
screen_shows 'has begun' "the log has its start"
screen_keys Enter
screen_shows 'smoothed' "Enter on a line shows its run"

# --- the devices ---
screen_keys m d Enter
screen_shows 'all cores +[0-9]+ %' "the devices show a load"
screen_shows 'the last [0-9.]+ seconds' "and the interval of the measurement"
screen_keys End
screen_shows 'no NVIDIA driver|cuda:0|no GPU|refuses' "GPUs, or the reason why there is none"
screen_end
if [ -f "$here/fake_nvml.so" ]; then
    mkdir lib && cp "$here/fake_nvml.so" lib/libnvidia-ml.so.1
    screen_start 100x50 C.UTF-8 env LD_LIBRARY_PATH="$T/lib" "$TINCA"
    screen_wait 'What it takes'
    screen_keys m d Enter
    screen_shows 'cuda:0 +Fake Accelerator' "a GPU is shown"
    screen_shows 'utilisation +0 %' "a utilisation of 0 is shown as 0"
    screen_keys End
    screen_shows 'power +not available' "a value that the other GPU does not report is not available"
    screen_end
else
    skip "a GPU is shown" "the stand-in library was not built"
fi
done_testing

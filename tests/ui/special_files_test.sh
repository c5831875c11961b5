#!/bin/sh
# Runs in which a file is a FIFO or a sparse file of 3 GiB: the workbench lists them, shows all their views,
# always answers keys, and needs little memory.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "special files in the workbench"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
MEBIBYTES=300
cd "$T" || exit 99
runs=$XDG_STATE_HOME/tinca/runs

run train mlp --data digits,limit=32 --validate digits,limit=16 --batch 8 --iterations 6 --threads 1 -q
[ "$status" = 0 ] || not_ok "a run to begin with" "$(told)"
first=$(ls "$runs")
run measure "$first" --images 4 --threads 1
mv "$runs/$first" whole
files="journal name.txt config.json summary.json profile.json measurements.json"
for kind in fifo sparse; do
    for file in $files; do
        cp -R whole "$runs/2020-$kind-$file"
        rm -f "$runs/2020-$kind-$file/$file"
        case $kind in
        fifo) mkfifo "$runs/2020-$kind-$file/$file" ;;
        sparse) truncate -s 3G "$runs/2020-$kind-$file/$file" ;;
        esac
    done
done

screen_start 80x24 C.UTF-8 "$TINCA"
screen_wait 'What it takes'
# list: opens the list of runs, from any screen; the menu may cover it until then
list() {
    screen_keys m
    screen_wait 'o +Runs' && screen_keys o Enter && wait_until listed
}
listed() { seen '12 runs' && ! seen 'o +Runs' && [ -n "$(selected)" ]; }
selected() { screen_text | sed -n 's/^ *\(2020-[a-z.-]*\) .*12 runs.*/\1/p'; }
list && ok "all runs are listed" || not_ok "all runs are listed" "$(screen_text)"

# answers: opens the selected run and goes through its views
answers() {
    screen_keys Enter
    screen_wait 'Run \(earlier\)|!' || return 1
    if seen 'Run \(earlier\)'; then
        for view in $(screen_text | sed -n 's/!.*//; 2p' | grep -o '[1-9]'); do
            screen_keys "$view"
            screen_wait "^[^!]*$view\[" || return 1
        done
    fi
    list
}

for row in 1 2 3 4 5 6 7 8 9 10 11 12; do
    name=$(selected)
    answers && ok "the workbench answers on $name" || not_ok "the workbench answers on $name" "$(screen_text)"
    screen_keys Down
    next() { [ $row = 12 ] || { now=$(selected) && [ -n "$now" ] && [ "$now" != "$name" ]; }; }
    wait_until next
done
for place in c t a p w; do
    screen_keys m
    screen_wait 'Go to' && screen_keys $place Enter && screen_wait '^ tinca .+ (Compare|Try|Advisor|Study|Sweep)' ||
        not_ok "the screen $place" "$(screen_text)"
done
list && ok "the workbench answers on the other screens" || not_ok "the workbench answers on the other screens" "$(screen_text)"
used=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$(screen_pid)/status" 2>/dev/null)
if ! grep -q '^VmHWM' /proc/self/status 2>/dev/null; then
    skip "memory stays small" "this system does not tell"
elif [ "${used:-0}" -gt 0 ] && [ "$used" -lt $((MEBIBYTES * 1024)) ]; then
    ok "memory stays small"
else
    not_ok "memory stays small" "${used:-it is gone, so no} KiB"
fi
screen_end
done_testing

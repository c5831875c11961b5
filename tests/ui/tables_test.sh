#!/bin/sh
# The screen Tables: the tables of both studies from the saved runs, scrolling, and writing them to a file.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "the studies' tables"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
cd "$T" || exit 99

"$TINCA" train squeezenet --data shapes,limit=4 --batch 2 --iterations 1 --threads 1 -q || exit 99
mkdir -p "$XDG_STATE_HOME/tinca/runs/20250101-000000-broken"
echo '{"cut' >"$XDG_STATE_HOME/tinca/runs/20250101-000000-broken/config.json"
"$TINCA" tables trindade >trindade.txt 2>/dev/null
"$TINCA" tables gondim --format md >gondim.md 2>/dev/null

screen_start 100x30 C.UTF-8 "$TINCA" ui
screen_wait 'Network'
screen_keys m
screen_wait 'Go to'
screen_keys b Enter
screen_shows 'Runs read: 1; 1 others cannot be read' "the runs were read, and one was left out"
screen_shows '\[Trindade 2017\]' "the tables of the first study are shown"
first=$(head -n 1 trindade.txt)
screen_shows "$first" "  as tinca tables prints them"
screen_shows 'not run \[1\]' "  and what was not run"
screen_keys Up
screen_shows 'This is the first line' "a key that does nothing says why"
screen_keys Down
wait_until unseen "$first"
ok "Down scrolls"
screen_keys End
screen_shows 'tinca train .*googlenet' "at the end stand the commands that run what is missing"
screen_keys v
screen_shows '\[Gondim Santos 2019\]' "v shows the other study"
screen_shows 'squeezenet' "  with a row for each network"
for step in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do screen_keys Right; done
screen_shows '^ *resnet20 .*272762' "Right shows the published figures beside the names"
screen_keys o
screen_shows 'Write the tables' "o asks for a file"
screen_keys C-u
screen_keys -l "$T/out.xyz"
screen_shows 'must end in' "  whose ending must be known"
screen_keys C-u
screen_keys -l "$T/out.md"
screen_keys Enter
screen_shows 'Wrote .*out.md' "the tables are written"
cmp -s out.md gondim.md && ok "  as tinca tables writes them" || not_ok "  as tinca tables writes them" "$(diff out.md gondim.md | head -n 5)"
screen_keys u
screen_shows 'Runs read: 1;' "u reads the runs again"

# the votes are those of the file that the screen Study has
echo '{"cut' >votes.json
screen_keys m
screen_wait 'Go to'
screen_keys p Enter
screen_wait 'Participant'
screen_keys Down Down Down Enter C-u
screen_keys -l votes.json
screen_keys Enter
screen_wait 'votes.json'
screen_keys m
screen_wait 'Go to'
screen_keys b Enter
screen_shows 'votes.json.*damaged|votes.json.*JSON' "votes are read from the file of the screen Study"
done_testing

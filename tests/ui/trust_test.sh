#!/bin/sh
# Folders of runs that others can write to: the list of runs reports them and shows the other runs; the screen
# Settings has the setting for folders of a group.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "folders that others can write to"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
cd "$T" || exit 99
home=$XDG_STATE_HOME/tinca/runs
job="lenet --data digits,limit=40 --batch 20 --iterations 2 --threads 1 -q"

# shellcheck disable=SC2086 # a list of options
{
    succeeds "a run" train $job
    succeeds "and another" train $job
}
for folder in "$home"/*; do :; done
chmod o+w "$folder"
screen_start 132x43 C.UTF-8 "$TINCA"
screen_wait 'Preset'
screen_keys o
screen_shows 'unreadable' "the list shows the run"
screen_shows 'done' "and the other run"
screen_keys Enter
screen_shows 'others may write into it' "Enter: the reason"
screen_start 80x24 C.UTF-8 "$TINCA"
screen_wait 'Preset'
screen_keys m ,
screen_wait 'Colours'
screen_keys End Right
screen_shows 'Changed and saved' "the setting is changed"
is "and saved" shared-runs true "$XDG_CONFIG_HOME/tinca/config.json"
chmod 777 "$home"
screen_start 132x43 C.UTF-8 "$TINCA"
screen_wait 'Preset'
screen_keys o
screen_shows 'others may write into it' "the folder of all runs is refused in the workbench"
done_testing

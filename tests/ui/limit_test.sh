#!/bin/sh
# A memory limit in the workbench: set in the form, its cost beside it, and visible in the arena.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "a memory limit in the form"
cd "$T" || exit 99
case $TINCA in /*) ;; *) TINCA=$OLDPWD/$TINCA ;; esac

screen_start 120x40 C.UTF-8 "$TINCA" ui resnet20 --data shapes,limit=64 --batch 32
screen_wait 'What it takes'
screen_lacks 'Memory limit' "the form hides rare settings"
screen_keys '*'
screen_shows 'Memory limit' "but * shows them"
screen_end
screen_start 120x40 C.UTF-8 "$TINCA" ui resnet20 --data shapes,limit=64 --batch 32 \
    --threads 1 --memory-limit 40M
screen_shows 'Memory limit +40M' "a limit that is set is shown"
screen_shows 'limit saves +[0-9.]+ MiB for [0-9.]+ % more FLOPs' "with its cost"
screen_resize 80x24
screen_shows 'limit saves' "also in a terminal of usual size"
screen_resize 40x12
screen_shows 'memory [0-9]' "and a small terminal shows the needed memory"
screen_end
screen_start 120x40 C.UTF-8 "$TINCA" ui resnet20 --data shapes,limit=64 --batch 32 \
    --threads 1 --memory-limit 10M
screen_shows 'raise the limit to [0-9]+MiB' "a limit that is too low is refused with the lowest possible one"
screen_end
screen_start 120x40 C.UTF-8 "$TINCA" ui resnet20 --data shapes,limit=64 --batch 32 --threads 1 \
    --memory-limit 30M --iterations 1000 --start
screen_wait 'smoothed'
screen_keys 3
screen_shows 'Memory limit: .* instead of ' "the run's memory view shows the limit"
screen_keys 4
screen_shows 'recomputed' "the arena shows recomputed values"
screen_shows 'forward .*[|] backward' "with a longer backward pass"
screen_end
screen_start 80x24 C "$TINCA" ui resnet20 --data shapes,limit=64 --batch 32 --threads 1 \
    --memory-limit 30M --iterations 1000 --start
screen_wait 'smoothed'
screen_keys 4
screen_shows '[+][+] recomputed' "in ASCII, too"
screen_end
done_testing

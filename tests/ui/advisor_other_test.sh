#!/bin/sh
# The second page of the screen Advisor: techniques after training, from the table of models, and their application.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "the advisor's second page"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
cd "$T" || exit 99

"$TINCA" train lenet --data digits,limit=60 --validate digits,split=test,limit=20 --batch 20 --epochs 1 \
    --threads 1 -q || exit 99

screen_start 80x24 C.UTF-8 "$TINCA" ui
screen_wait 'Network'
screen_keys m
screen_wait 'Go to'
screen_keys a Enter
screen_wait 'To become'
screen_keys A
screen_shows 'concerns the second page' "A concerns the second page"
screen_keys v
screen_shows 'Other means: techniques after training' "v shows it"
screen_shows 'Measure lenet first' "to be faster, its time must be measured"
screen_keys A
screen_shows 'Choose one network first' "A wants one network"
screen_keys Right
screen_wait 'To become +smaller'
screen_keys Down Down Down 1 Enter
screen_shows 'Try half:float16 on lenet next' "to be smaller, half precision is enough"
screen_shows 'Row 1, lenet' "  with the row that was read"
screen_keys Down Down Right
screen_wait 'Network +lenet'
screen_keys A
screen_shows 'How many minutes' "A asks for the budget"
screen_keys C-u
screen_keys none Enter
screen_shows 'Give a number of minutes' "  which is a number"
screen_keys C-u
screen_keys 5 Enter
screen_shows 'Use lenet.half:float16: it meets the limits' "it is applied and measured"
screen_shows 'The best so far: lenet.half:float16' "  and is the best so far"
[ "$(ls "$XDG_STATE_HOME"/tinca/models/*.safetensors | wc -l)" = 1 ] && ok "  its model is kept" ||
    not_ok "  its model is kept" "$(ls "$XDG_STATE_HOME/tinca/models")"
screen_keys A
screen_shows 'There is nothing to apply' "then nothing is left to apply"
screen_keys v
screen_lacks 'Other means' "v goes back to the first page"
screen_end

screen_start 40x12 C NO_COLOR=1 "$TINCA" ui
screen_wait 'Network'
screen_keys m
screen_wait 'Go to'
screen_keys a Enter
screen_wait 'To become'
screen_keys v
screen_shows 'Other means' "in a small terminal without UTF-8 and colours"
screen_end
done_testing

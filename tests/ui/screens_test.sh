#!/bin/sh
# The form, the help, a run, a comparison, the menu, the lists and the places it leads to, at three sizes, in UTF-8 and in plain ASCII, compared with
# tests/ui/goldens. RENEW=1 (make renew-screens) writes these instead: look at the difference.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "the screens look as they should"
GOLDENS=${srcdir:-.}/tests/ui/goldens

# settled PATTERN: the screen, once the pattern is on it and nothing changes any more
settled() {
    screen_wait "$1" || return 1
    before=
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        sleep 0.3
        after=$(screen_text)
        [ "$before" = "$after" ] && break
        before=$after
    done
    printf '%s\n' "$after"
}

# compare NAME PATTERN
compare() {
    golden=$GOLDENS/$1-$screen_size-$screen_locale.txt
    if ! settled "$2" >"$T/screen"; then
        not_ok "$1 at $screen_size, $screen_locale" "no $2 on: $(screen_text)"
    elif [ -n "${RENEW-}" ]; then
        cp "$T/screen" "$golden"
        ok "$1 at $screen_size, $screen_locale renewed"
    elif diff "$golden" "$T/screen" >"$T/difference"; then
        ok "$1 at $screen_size, $screen_locale"
    else
        not_ok "$1 at $screen_size, $screen_locale" "$(cat "$T/difference")"
    fi
}

fake_kept 20261118-101500-lenet-0032 20261119-111500-resnet20-0064 20261120-111500-lenet-0128
for locale in C.UTF-8 C; do
    for size in 40x12 80x24 132x43; do
        screen_start $size $locale "$FAKE"
        shown='of 10000, epoch 1' # the pictures come last
        [ $size = 40x12 ] && shown=memory
        screen_wait 'memory 18|It fits'
        compare form "$shown"
        screen_keys '?'
        compare help 'this help|run what'
        screen_start $size $locale env UI_FAKE_FREEZE=640 "$FAKE" --start
        compare run '64 %'
        screen_start $size $locale "$FAKE"
        screen_wait 'memory 18|It fits'
        screen_keys c
        screen_wait '3 runs'
        compare curves 'lenet, batch 32'
        screen_keys v
        compare table 'NETWORK'
        screen_keys q m
        compare menu 'Go to'
        screen_keys o
        compare runs 'network'
        screen_keys q m ,
        compare settings 'Colours'
    done
done
done_testing

#!/bin/sh
# Compares the form, the help, a run, a comparison, the menu, the lists and the screens that they lead to with
# tests/ui/goldens, at five sizes, in UTF-8 and in ASCII. RENEW=1 (make renew-screens) writes the goldens
# instead: inspect the difference.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "the screens equal the goldens"
GOLDENS=${srcdir:-.}/tests/ui/goldens

# as_golden: whether two captures in a row equal the golden screen. It may appear later than the pattern, since
# background jobs fill in values.
as_golden() { settled && printf '%s\n' "$latter" | diff "$golden" - >"$T/difference"; }

# compare NAME PATTERN: waits for PATTERN and compares the screen with its golden file
compare() {
    golden=$GOLDENS/$1-$screen_size-$screen_locale.txt
    if ! screen_wait "$2"; then
        not_ok "$1 at $screen_size, $screen_locale" "no $2 on: $(screen_text)"
    elif [ -n "${RENEW-}" ]; then
        sleep 1 # the developer inspects the difference
        wait_until settled
        printf '%s\n' "$latter" >"$golden"
        ok "$1 at $screen_size, $screen_locale renewed"
    elif wait_until as_golden; then
        ok "$1 at $screen_size, $screen_locale"
    else
        not_ok "$1 at $screen_size, $screen_locale" "$(cat "$T/difference")"
    fi
}

fake_kept 20261118-101500-lenet-0032 20261119-111500-resnet20-0064 20261120-111500-lenet-0128
for locale in C.UTF-8 C; do
    for size in 40x12 80x24 120x40 132x43 200x60; do
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
        screen_keys o Enter
        compare runs 'network'
        screen_keys q m , Enter
        compare settings 'Colours'
    done
done
done_testing

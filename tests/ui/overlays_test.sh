#!/bin/sh
# Overlays (dialogs, menu, lists, the command palette, the list of curves) clear the cells around them while they
# are open, and leave the screen as it was when they are closed; messages cover whole lines and go with their cause.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "overlays"

# cells: the screen with one byte a column; only the corners and edges of boxes stay distinct
cells() {
    screen_text | LC_ALL=C sed -e 's/╭/{/g; s/╮/}/g; s/╰/[/g; s/─/-/g' -e "s/$(printf '[\300-\367][\200-\277]*')/U/g"
}

# edges: what stands directly beside the box on the screen, one line each; nothing if that is blank
edges() {
    cells | LC_ALL=C awk '
        !top && match($0, /[{+]- [A-Z]/) { top = NR; left = RSTART; right = left + match(substr($0, left + 1), /[}+]/) }
        top && !bottom {
            before = left > 1 ? substr($0, left - 1, 1) : ""; after = substr($0, right + 1, 1)
            if (before != "" && before != " ") print "line " NR ", before the box: " before
            if (after != "" && after != " ") print "line " NR ", after the box: " after
            if (NR > top && index("[+", substr($0, left, 1))) bottom = NR
        }
        END { if (!bottom) print "no box" }'
}
is_back() { settled && [ "$latter" = "$bare" ]; }

# overlay NAME PATTERN KEY... -- KEY...: opens an overlay with the first keys, closes it with the others
overlay() {
    name="$1 at $screen_size, $screen_locale, ${screen_terminal:-256 colours}" pattern=$2
    shift 2
    bare=$(screen_text)
    while [ "$1" != -- ]; do screen_keys "$1"; shift; done
    shift
    if ! screen_wait "$pattern"; then
        not_ok "$name opens" "no $pattern on: $(screen_text)"
        return
    fi
    wait_until settled
    beside=$(edges)
    if [ -z "$beside" ]; then ok "$name: nothing is left beside it"; else
        not_ok "$name: nothing is left beside it" "$beside
$(screen_text)"; fi
    for key; do screen_keys "$key"; done
    if wait_until is_back; then ok "$name: it leaves nothing behind"; else
        not_ok "$name: it leaves nothing behind" "$(screen_text)"; fi
}

all_overlays() { # all_overlays SIZE LOCALE
    screen_start "$1" "$2" "$FAKE"
    ready='of 10000, epoch 1' # the pictures come last
    [ "$1" = 40x12 ] && ready='memory 18'
    screen_wait "$ready"
    wait_until settled
    overlay "the menu" 'Go to' m -- Escape
    overlay "the command palette" 'Commands' : -- Escape
    overlay "a list" 'Preset [-─]' Enter -- Escape
    screen_start "$1" "$2" env UI_FAKE_FREEZE=640 "$FAKE" --start
    screen_wait '64 %'
    wait_until settled
    overlay "Stop" 'carry on|now .after' s -- c
    overlay "Export" 'Format' e -- Escape
    overlay "the learning rate" 'Learning rate [-─]' L -- Escape
    overlay "the list of curves" 'Curves: space' Y -- Escape
    overlay "Quit" 'carry on|finish this epoch' q -- c
}
all_overlays 80x24 C.UTF-8
all_overlays 40x12 C.UTF-8
screen_terminal=vt100
all_overlays 80x24 C
screen_terminal=

# --- questions in a small terminal: their words are wrapped ---
screen_start 40x12 C.UTF-8 env UI_FAKE_FREEZE=640 "$FAKE" --start
screen_wait '64 %'
screen_keys s
screen_shows 'n  now .after this iteration., and' "the words of a choice"
screen_shows '│ +save +│' "go on in the next line"
screen_keys Down Down Enter e
screen_shows 'Format +‹ JSON: everything,[a-z ]*… › *│' "the cut value of a choice keeps its arrows"
screen_shows '│ Enter writes it, Up and Down' "so do the keys of a dialog with a text line"
screen_shows '│ Esc leaves +│' "to their end"
screen_keys Escape
screen_resize 40x7
screen_keys q
screen_shows 'y  stop it now' "in a smaller terminal the answers matter more than the text"
screen_keys Up
screen_shows '> c  carry on' "and the selected one is in sight"
screen_keys c
screen_end

# --- messages ---
screen_start 80x24 C.UTF-8 "$FAKE"
screen_wait 'memory 18|It fits'
screen_keys e
screen_shows 'no run to export' "a key that can do nothing says why"
screen_keys Down
screen_lacks 'no run to export' "the next key removes that message"
screen_keys Right
screen_wait "alexnet wants"
screen_keys F5
screen_shows '! digits: its images' "a form that cannot run says why"
screen_keys Up Up Up Left
screen_lacks '! digits: its images' "and no longer once it is corrected"
done_testing

#!/bin/sh
# The keys that are offered in each state of a run, the command palette, the menu's search and the search in the
# help: what they show, what they do, typed and clicked.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "commands"
screen_terminal=xterm-256color

hints() { screen_text | grep -v '^$' | tail -n 1; }
hints_have() { hints | grep -q -- "$1"; }
offers() { # offers WORD NAME: the line of key hints has the word
    if wait_until hints_have "$1"; then ok "$2"; else not_ok "$2" "no $1 in: $(hints)"; fi
}
hints_lack() { ! hints_have "$1"; }
withholds() { # withholds WORD NAME: it does not
    if wait_until hints_lack "$1"; then ok "$2"; else not_ok "$2" "$1 in: $(hints)"; fi
}
click() { # click COLUMN ROW: presses and releases the left button there, counted from 1
    screen_keys -l "$(printf '\033[<0;%d;%dM' "$1" "$2")"
    screen_keys -l "$(printf '\033[<0;%d;%dm' "$1" "$2")"
}

# --- what is offered ---
screen_start 120x40 C.UTF-8 "$FAKE"
screen_wait 'memory 18|It fits'
withholds 'e export' "without a run nothing can be exported"
withholds 'c compare' "nor compared"
screen_keys m
screen_wait 'Go to'
screen_lacks 'r  Run  |e  Export' "and the menu leaves both out"
offers 'words find a command' "it says how a command is found"
screen_keys /
screen_keys 'next val'
screen_shows '> Right +the next value' "/ then words finds it"
withholds 'q quit' "and keys that would be typed are not offered"
screen_keys Escape m :
screen_keys 'next val'
screen_shows '> Right +the next value' "so does :"
screen_keys Escape
screen_start 200x60 C.UTF-8 env UI_FAKE_FREEZE=640 "$FAKE" --start
screen_wait '64 %'
offers 'space pause' "a run that is on can be paused"
offers 's stop' "and stopped"
offers 'e export' "and exported"
screen_keys Space
offers 'space go on' "a paused run can go on"
screen_keys '?'
screen_shows 'pause the run, and go on' "the help lists pause for it"
screen_keys q
screen_keys Space
screen_shows 'It continues' "and it goes on"
screen_start 200x60 C.UTF-8 "$FAKE" --epochs 1 --start
screen_shows 'is done' "a run ends"
withholds 'space pause' "a run that is over cannot be paused"
withholds 's stop' "nor stopped"
offers 'c compare.*e export.*v view' "comparison and export are its first keys"
screen_keys '?'
screen_wait 'Watching a run'
screen_lacks 'pause the run, and go on' "its help does not list pause"
screen_keys q
screen_keys Space
screen_shows 'This run is not on' "the key still says why it does nothing"

# --- the command palette ---
screen_keys :
screen_shows 'Commands' ": opens the command palette"
screen_lacks 'space +pause' "which does not list it either"
screen_keys l a y
screen_shows '> 5 +Layers' "a view is found by its name"
screen_keys Enter
screen_shows '5\[Layers\]' "Enter goes there"
screen_keys :
screen_wait 'Commands'
screen_keys a x i s Space s c a l
screen_shows '> l +log +axis scales' "several words find an action by its description"
screen_keys Enter
screen_shows 'axis is logarithmic|x logarithmic|log x' "Enter does what its key does"
screen_keys :
screen_wait 'Commands'
screen_keys z z z z
screen_shows 'nothing matches' "words that occur nowhere find nothing"
screen_keys Escape
screen_lacks 'Commands' "Esc closes the palette"
screen_keys :
screen_wait 'Commands'
screen_keys d e v i c e s
screen_shows '> m d +Devices' "a screen is found by its name, with the keys that lead there"
screen_keys Enter
screen_shows '^ tinca [^ ]+ Devices' "and is shown"
screen_keys :
screen_wait '  e +export'
wait_until settled
row=$(screen_text | grep -En '  e +export' | head -n 1 | cut -d: -f1)
click 100 "$row"
screen_keys Enter
screen_shows '─ Export ─' "a click selects, Enter does"
screen_keys Escape

screen_keys ':'
screen_wait 'Commands'
screen_keys -l settings
screen_keys Enter
screen_wait '^ tinca [^ ]+ Settings'
screen_keys ':'
screen_wait 'Commands'
screen_keys -l last
screen_shows 'nothing matches|> ' "a key that only moves is not in the list"
screen_keys Enter
screen_shows '^> Shared runs' "but its name does what it does"
screen_keys ':'
screen_wait 'Commands'
screen_keys -l default
screen_keys Enter
screen_shows 'has its default value' "and the name of an action that is refused says why"
screen_keys m s
screen_wait '^ tinca [^ ]+ Set up'
screen_keys ':'
screen_wait 'Commands'
screen_keys -l run
screen_wait '> r +run '
screen_keys Down
screen_wait '> o +runs '
screen_keys Enter
screen_shows '^ tinca [^ ]+ Runs' "a line that was chosen counts, not the name that was typed"

# --- the menu ---
screen_keys m
screen_wait 'Go to'
screen_keys x
screen_shows 'Commands' "a character that is no letter of the menu searches"
screen_shows '/ x' "for what was typed"
screen_keys Escape
go_to() { # opens the menu
    screen_keys m
    screen_wait 'Go to'
}
drawn() { # the menu is left half a second after the letter, so a busy machine may need another attempt
    for _ in 1 2 3 4 5; do
        go_to
        screen_keys w
        for _ in $(seq 20); do seen '> m w +Sweep' && return; done
        screen_wait '^ tinca [^ ]+ Sweep'
    done
    return 1
}
if drawn; then ok "a letter is drawn at once, as the beginning of a word"; else
    not_ok "a letter is drawn at once, as the beginning of a word" "$(screen_text)"
fi
screen_shows '^ tinca [^ ]+ Sweep' "and goes to its screen if no other follows"
go_to
screen_keys d Enter
screen_shows '^ tinca [^ ]+ Devices' "with Enter at once"
go_to
screen_keys s w e e p
screen_shows '/ sweep' "further letters make it a word"
screen_shows '> m w +Sweep' "which finds a screen"
screen_keys Enter
screen_shows '^ tinca [^ ]+ Sweep' "and Enter goes there"
go_to
screen_keys m e m o r y
screen_shows '/ memory' "a word may begin with m"
screen_keys BSpace BSpace BSpace BSpace BSpace BSpace q u i t
screen_shows '> q +back' "another word finds a key"
screen_keys Escape
screen_lacks 'Commands' "Esc closes the list"
go_to
screen_keys q
screen_lacks 'Commands|Go to' "q alone closes the menu"
go_to
screen_keys s BSpace
screen_shows '/ type to search' "a letter that is deleted leads nowhere"
screen_keys d e v
screen_shows '> m d +Devices' "what is typed instead is searched"
screen_keys Escape
go_to
printf 'devices\n' >"$T/clipboard"
tmux -L "$SOCKET" load-buffer "$T/clipboard"
tmux -L "$SOCKET" paste-buffer -p -r
screen_shows '> m d +Devices' "a pasted word is searched"
screen_keys Escape
go_to
row=$(screen_text | grep -En ' l  Log' | cut -d: -f1)
click 80 "$row"
screen_shows 'tinca .* Log' "a click on a line goes there"

# --- the help ---
screen_start 80x24 C.UTF-8 "$FAKE"
screen_wait 'memory 18|It fits'
screen_keys '?'
screen_wait 'this help|run what'
screen_keys /
screen_keys z o o m
screen_shows '> z +zoom in|^> .*zoom' "/ in the help finds entries"
screen_lacks 'scroll the list|learning rate' "and leaves out the others"
screen_lacks 'Tab complete' "Tab, which completes nothing there, is not offered"
screen_keys Enter
screen_shows '1 of [0-9]' "it says how many there are"
screen_keys n
screen_shows '2 of [0-9]' "n goes to the next"
screen_keys N
screen_shows '1 of [0-9]' "N to the one before"
screen_keys Escape
screen_shows 'run what' "Esc shows all again"
screen_keys / q q q
screen_shows 'nothing matches' "a text that does not occur is reported"

# --- the hints of what lies over a screen ---
fake_kept 20261118-101500-lenet-0032 20261119-111500-resnet20-0064
screen_start 120x40 C.UTF-8 "$FAKE"
screen_wait 'memory 18|It fits'
overlay() { # overlay KEYS HINT NAME: opens a list or dialog, looks at the hints and closes it
    screen_keys $1
    offers "$2" "the hints are those of $3"
    withholds '/ filter\|y picture\|r run\|m menu' "and none of the screen's below"
    screen_keys Escape
}
overlay Enter 'Enter take it.*Esc close' "the choices of the form"
overlay m 'words find a command' "the menu"
overlay : 'Enter do it' "the list of commands"
screen_keys o
screen_wait '2 runs'
overlay C 'space toggle.*a automatic' "the columns"
overlay v 'Del remove' "the saved views"
overlay b 'Enter take it.*Esc close' "the fields to group by"
overlay R 'Esc leave it.*C-u clear' "a dialog with a text"
overlay d 'Enter take it.*Esc close' "a question"
overlay / 'Tab complete' "the filter"
screen_keys Enter
screen_wait 'smoothed'
overlay Y 'space toggle' "the list of curves"

# --- messages and findings ---
screen_start 80x24 C.UTF-8 "$FAKE" --start
screen_shows '^ ! overfitting from epoch' "a finding has a line of its own"
screen_shows '1.Curves.2 Findings 3 Memory 4 Arena' "and the tabs keep their names"
done_testing

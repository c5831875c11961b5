#!/bin/sh
# Paths, data sets and settings are completed in the same way wherever one is typed: in Sweep, Study, Try it and the
# dialogs. Candidates are shown, Tab and the arrows choose, and Enter takes what was typed unless one is chosen.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "paths are completed everywhere"
cd "$T" || exit 99
case $TINCA in /*) ;; *) TINCA=$OLDPWD/$TINCA ;; esac
mkdir -p many "many sets" home/sub hundred/cifar-100-binary
: >home/sub/deep.safetensors
i=100
while [ $i -lt 400 ]; do
    : >many/file$i.safetensors
    i=$((i + 1))
done
: >many/last.png
printf 'apple\naquarium_fish\nbaby\n' >hundred/cifar-100-binary/fine_label_names.txt

raw() { screen_keys -l "$1"; }
paste() { # paste TEXT: as a terminal with bracketed paste sends it
    printf '%s' "$1" >"$T/clipboard"
    tmux -L "$SOCKET" load-buffer "$T/clipboard"
    tmux -L "$SOCKET" paste-buffer -p -r
}
go() { # go LETTER PATTERN: shows a screen
    screen_start 100x30 C.UTF-8 env HOME="$T/home" "$TINCA"
    screen_wait 'What it takes'
    screen_keys m
    screen_wait 'Go to'
    screen_keys "$1"
    screen_wait "$2"
}
"$TINCA" train mlp --widths 16 --data digits,limit=40 --epochs 1 --batch 20 --threads 1 -q </dev/null 2>/dev/null

# --- Sweep ---
go w '1 cell'
screen_keys Down Down Down Down Down Enter
screen_shows 'cifar10: +CIFAR-10' "Sweep lists the kinds of data sets"
screen_keys C-u
raw 'folder:./man'
screen_shows '  many/ .*' "the folders of a path"
screen_shows '  many sets/ ' "also with spaces in their names"
screen_keys Down Down Enter
screen_shows '> Training data +folder:./many sets/' "the arrows choose one"
screen_keys C-u
paste 'folder:./no/such/'
screen_shows '> Training data +folder:./no/such/' "a folder that is missing has no candidates"
screen_lacks 'Down or Tab chooses' "and no list"
screen_keys C-u
paste 'shapes,only=st'
screen_shows '  star ' "a pasted text is completed, too: classes of generated sets"
screen_keys Tab
screen_shows 'shapes,only=star' "Tab completes"
screen_keys C-u
raw 'cifar10:x,only=a'
screen_shows '  airplane ' "classes of CIFAR-10"
screen_keys C-u
raw 'cifar100:hundred,only=a'
screen_shows '  aquarium_fish ' "of CIFAR-100, which its files name"
screen_keys C-u
raw 'cifar100:nowhere,only='
screen_shows '  7 +number of a class' "numbers, where no file names them"
screen_keys C-u
raw 'idx:nowhere,only='
screen_shows '  7 +number of a class' "and of IDX files"
screen_keys C-u
raw 'shapes,limit=20'
screen_keys Enter
screen_shows '> Training data +shapes,limit=20' "Enter takes what was typed"
screen_keys Enter
screen_wait 'cifar10: '
screen_keys Enter
screen_shows '> Training data +shapes,limit=20' "also where other candidates are listed"
screen_keys Up Enter
screen_shows 'network= +Network' "other lists: settings are candidates"
raw 'momentum=0.9 techn'
screen_keys Tab
screen_shows 'momentum=0.9 technique=' "after a space, too"
screen_shows '  dsc ' "and their values"
raw 'dsc,sh'
screen_shows '  shuffle ' "after a comma"
screen_keys Escape Escape
screen_shows 'Other lists +.as in' "Esc leaves the row as it was"
screen_keys y
screen_shows 'concerns the cells' "a key is a command again"
screen_end

# --- Study ---
go p 'Results in'
screen_keys Down Down Down Enter C-u
raw 'many/l'
screen_shows '  last.png ' "Study completes the file of the results"
screen_keys C-u
raw '~/su'
screen_keys Tab
screen_shows 'Results in +~/sub/' "in the home directory, too"
raw 'votes.json'
screen_keys Enter
screen_shows "Results in +$T/home/sub/votes.json" "whose name is expanded"
screen_end

# --- Try it ---
go t 'image 1 of'
screen_keys w
screen_wait 'Which weights'
raw './many/file1'
screen_shows '  file100.safetensors ' "Try it completes the path of a model"
screen_lacks 'last.png' "and lists no other files"
screen_keys C-u
raw './many/'
screen_shows '[0-9]+ more: type on' "of many files it says how many more there are"
raw 'file3990'
screen_keys BSpace Enter
screen_shows './many/file399: cannot open' "Enter takes what was typed"
screen_keys w
screen_wait 'Which weights'
raw mlp
screen_shows 'Enter takes it; Down goes to the list' "a word searches in the list"
screen_keys Enter
screen_shows '(mlp: |mlp).*cannot open' "but Enter takes the word, for none was chosen"
screen_keys w
screen_wait 'Which weights'
raw mlp
screen_keys Down Enter
screen_shows 'image 1 of' "Down and Enter choose a run"
screen_keys w
screen_wait 'Which weights'
raw '~/sub/de'
screen_keys Tab
screen_shows '/ ~/sub/deep.safetensors' "~ is the home directory"
screen_keys Enter
screen_shows "$T/home/sub/deep.safetensors" "and is expanded"
screen_end
go t 'image 1 of'
screen_keys i
screen_wait 'An image file'
raw 'many/la'
screen_shows '  last.png ' "an image's path is completed while it is typed"
screen_keys Tab
screen_shows 'many/last.png ' "Tab completes it"
screen_keys Escape d
screen_wait 'A data set'
screen_keys C-u
raw 'shapes,'
screen_shows 'limit= +a number of images' "the options of a data set are candidates"
raw 'only=ci'
screen_keys Tab Enter
screen_shows 'shapes,only=circle' "its classes, too"
screen_keys n
screen_wait 'Threads'
screen_keys Tab
screen_lacks 'Down or Tab chooses' "a number is not completed"
screen_keys Escape m ,
screen_wait 'Colours'
screen_keys Down Down Down Down Down Enter
screen_wait 'C-u clears'
screen_keys C-u
raw '~/s'
screen_keys Tab Enter
screen_shows "$T/home/sub" "the folder of exports is completed and expanded"
screen_end
done_testing

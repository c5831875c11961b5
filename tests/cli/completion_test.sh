#!/bin/sh
# tinca completion: the words that can follow, from the tables of options; the scripts of bash, zsh and fish, run
# in the shells where these are installed; and an export that tells a run from a model by its content.
srcdir=$(cd "${srcdir:-.}" && pwd)
. "$srcdir/tests/cli/tap.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
scripts=$srcdir/contrib/completion
cd "$T" || exit 99
PATH=$(dirname "$TINCA"):$PATH
export PATH
mkdir -p files/inside
: >files/a.safetensors
: >files/b.txt
: >files/c.prototxt
: >'files/two words.safetensors'
run train lenet --data digits,limit=40 --batch 20 --iterations 1 --threads 1 --name first -q
id=$(ls "$XDG_STATE_HOME/tinca/runs")
[ -n "$id" ] || not_ok "a run to complete" "$(told)"

# offers NAME 'LINES' WORD...: the words that can follow WORD... are these lines, without notes
offers() {
    name=$1 expected=$2
    shift 2
    found=$("$TINCA" completion words -- "$@" 2>&1 | cut -f1)
    if [ "$found" = "$expected" ]; then ok "$name"; else not_ok "$name" "$found"; fi
}

# offers_all NAME PATTERN WORD...: a line matches
offers_all() {
    name=$1 pattern=$2
    shift 2
    if "$TINCA" completion words -- "$@" 2>&1 | grep -Eq -- "$pattern"; then ok "$name"; else not_ok "$name"; fi
}

found=$("$TINCA" completion words -- '' | sed -n 's/^=\([^	]*\).*/\1/p')
if [ "$found" = "$(subcommands)" ]; then ok "every command"; else not_ok "every command" "$found"; fi
for command in $(subcommands); do
    "$TINCA" "$command" --help | sed -n 's/^ *\(-[a-z], \)\{0,1\}--\([a-z0-9-]*\).*/--\2/p' | sort -u >help
    "$TINCA" completion words -- "$command" -- 2>&1 | grep -c . >lines
    "$TINCA" completion words -- "$command" - | sed -n 's/^=\([^	]*\).*/\1/p' | sort -u >offered
    # the help text also mentions options at the beginning of a line: what is offered is among them
    if [ -s offered ] && [ -z "$(comm -13 help offered)" ] &&
        [ "$("$TINCA" "$command" --help | grep -c '^ \{2,6\}\(-[a-z], \)\{0,1\}--')" = "$(grep -c . offered)" ]; then
        ok "every option of $command, as --help lists them"
    else
        not_ok "every option of $command, as --help lists them" "$(diff help offered)"
    fi
done
offers "a command" '=train' tra
offers "the options of the workbench" '=--start' --star
offers "networks" '=resnet20
=resnet56
=resnet110' train res
offers "suffixes of a network" '=resnet20-dsc
=resnet20-shuffle
=resnet20-shift
=resnet20-2
=resnet20-0.5
=resnet20-2.4_block' train resnet20-
offers "a technique behind an option" '=shuffle
=shift' info lenet --technique sh
offers "a value behind =" '=--technique=dsc' info lenet --technique=d
offers "an abbreviated option" '=dsc' info lenet --techn d
offers "the letter of an option" ':files' export x -o ''
offers "options that are not given yet" '=--json' runs --jso
offers "no option twice" '' runs --json --jso
offers "a tag as often as wanted" '=--tag' train lenet --tag a --ta
offers "datasets" '+pairs:' train lenet --data pa
offers "options of a data set" '+digits,split=' train lenet --data digits,sp
offers "their values" '=digits,split=train' train lenet --data digits,split=tr
offers "the folders of a data set" '+folder:files/inside/' train lenet --data folder:files/
offers "devices" '=cpu' bench lenet --device c
offers "precisions" '=bf16' bench lenet --precision b
offers "elements of a list" '=lenet,squeezenet' sweep --networks lenet,sq
offers "settings to vary" '+momentum=
+momentum-form=' sweep --vary mom
offers "their values" '=solver=nesterov' sweep --vary solver=nes
offers "runs by ID and name" "=$id
=first" resume ''
offers "a run by its name" '=first' measure fi
offers "models and runs" "=$id
=first
:files .safetensors .onnx" eval ''
offers "every operand of a list" '=first' compare "$id" fi
offers "formats" '=prototxt' export x --format prot
offers "studies" '=trindade' tables tr
offers "fields of runs" '+momentum=
+momentum-form=' runs mom
offers "files" ':files' import --weights ''
offers "folders" ':folders' tables trindade --runs ''
offers "operands alone behind --" '' devices -- ''
offers "options where no operand can follow" '=--all-values' attach x --all-v
offers "nothing for an unknown command" '' nonsense ''
offers "nothing for an unknown option" '' train --nonsense=
offers_all "options after all operands" '^=--device' bench lenet ''
succeeds "no word at all" completion words
refuses 2 'bash, zsh or fish' "an unknown shell" completion csh
refuses 2 'one shell' "two shells" completion bash zsh
for shell in bash/tinca zsh/_tinca fish/tinca.fish; do
    "$TINCA" completion "${shell%/*}" >printed 2>&1
    if cmp -s printed "$scripts/$shell"; then ok "prints the script of ${shell%/*}"; else not_ok "prints the script of ${shell%/*}"; fi
done

# --- bash ---
# in_bash NAME 'LINES' LINE: what the function of bash answers, sorted, for a line that is divided as bash divides it
cat >ask.bash <<'END'
source "$1"
compopt() { shell_option="compopt $*"; }
line=$2
COMP_LINE=$line COMP_POINT=${#line} COMP_WORDS=() word=
kind=blank
for ((i = 0; i <= ${#line}; i++)); do
    c=${line:i:1}
    case $c in ' ' | '') now=blank ;; : | =) now=break ;; *) now=letter ;; esac
    if [ "$now" != "$kind" ] || [ "$now" = blank ]; then
        [ -z "$word" ] || COMP_WORDS+=("$word")
        word=
    fi
    [ "$now" = blank ] || word+=$c
    kind=$now
done
case $line in *' ') COMP_WORDS+=("") ;; esac
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
# behind a separator bash completes an empty word, which stands in no word of the line
_tinca
printf '%s\n' "${COMPREPLY[@]}" "$shell_option"
END
in_bash() {
    found=$(bash --norc ask.bash "$scripts/bash/tinca" "$3" 2>&1 | grep . | LC_ALL=C sort)
    if [ "$found" = "$2" ]; then ok "bash: $1"; else not_ok "bash: $1" "$found"; fi
}
if command -v bash >/dev/null; then
    in_bash "a command" train 'tinca tra'
    in_bash "an option" --technique 'tinca info lenet --techn'
    in_bash "a value" 'shift
shuffle' 'tinca info lenet --technique sh'
    in_bash "a value behind =" 'shift
shuffle' 'tinca info lenet --technique=sh'
    in_bash "a path behind :, to which more follows" '/usr/
compopt -o nospace' 'tinca train lenet --data folder:/us'
    in_bash "models and folders" 'compopt -o filenames
files/a.safetensors
files/inside
files/two words.safetensors' 'tinca eval files/'
    in_bash "all files" 'compopt -o filenames
files/b.txt' 'tinca export x -o files/b'
    in_bash "a program that is not in the path" train "$TINCA tra"
else
    skip "bash" "there is no bash here"
fi

# --- zsh ---
# in_zsh NAME PATTERN KEYS: what stands on the line after KEYS and a Tab, in a real zsh
cat >ask.zsh <<'END'
zmodload zsh/zpty || exit 77
zpty shell "PS1='> ' zsh -f -i"
zpty -w shell "fpath=($1 \$fpath); autoload -U compinit; compinit -u -d $2/dump; stty -echo 2>/dev/null; cd $2; bindkey '^X' kill-whole-line; PS1=; LISTMAX=10000"
zpty -w shell "echo rea''dy"
zpty -r -m shell text '*ready*'
show() { print -r -- \$BUFFER; }
zpty -w shell "shown() { print -r -- \"<\$BUFFER>\" >$2/line; zle kill-whole-line; }; zle -N shown; bindkey '^G' shown; echo se''t"
zpty -r -m shell text '*set*'
zpty -w -n shell "$3"$'\t\a'
for i in {1..1200}; do [[ -s $2/line ]] && break; sleep 0.05; done
cat $2/line
zpty -d shell
END
in_zsh() {
    rm -f line
    found=$(timeout 120 zsh -f ask.zsh "$scripts/zsh" "$T" "$3" 2>&1)
    if [ "$found" = "$2" ]; then ok "zsh: $1"; else not_ok "zsh: $1" "$found"; fi
}
if ! command -v zsh >/dev/null; then
    skip "zsh" "there is no zsh here"
elif ! zsh -f -c 'zmodload zsh/zpty' 2>/dev/null; then
    skip "zsh" "this zsh has no zpty"
else
    if zsh -n "$scripts/zsh/_tinca"; then ok "zsh reads its script"; else not_ok "zsh reads its script"; fi
    in_zsh "a command" '<tinca train >' 'tinca tra'
    in_zsh "an option" '<tinca info lenet --technique >' 'tinca info lenet --techn'
    in_zsh "a value" '<tinca info lenet --technique shift >' 'tinca info lenet --technique shi'
    in_zsh "a value behind =" '<tinca info lenet --technique=shift >' 'tinca info lenet --technique=shi'
    in_zsh "a path behind :, to which more follows" '<tinca train lenet --data folder:/usr/>' 'tinca train lenet --data folder:/us'
    in_zsh "a model" '<tinca eval files/a.safetensors >' 'tinca eval files/a'
    in_zsh "a file behind =" '<tinca train --weights=files/a.safetensors >' 'tinca train --weights=files/a'
fi

# --- fish ---
in_fish() { # in_fish NAME 'LINES' LINE
    found=$(timeout 120 fish --no-config -c 'source $argv[1]; cd $argv[2]; complete -C $argv[3]' "$scripts/fish/tinca.fish" "$T" "$3" 2>&1 |
        cut -f1 | LC_ALL=C sort)
    if [ "$found" = "$2" ]; then ok "fish: $1"; else not_ok "fish: $1" "$found"; fi
}
if command -v fish >/dev/null; then
    HOME=$T
    export HOME
    if fish --no-execute "$scripts/fish/tinca.fish"; then ok "fish reads its script"; else not_ok "fish reads its script"; fi
    in_fish "a command" train 'tinca tra'
    in_fish "an option" --technique 'tinca info lenet --techn'
    in_fish "a value" 'shift
shuffle' 'tinca info lenet --technique sh'
    in_fish "a value behind =" '--technique=shift
--technique=shuffle' 'tinca info lenet --technique=sh'
    in_fish "a path behind :" folder:/usr/ 'tinca train lenet --data folder:/us'
    in_fish "models and folders" 'files/a.safetensors
files/inside/
files/two words.safetensors' 'tinca eval files/'
    in_fish "a file behind =" --weights=files/a.safetensors 'tinca train --weights=files/a'
else
    skip "fish" "there is no fish here"
fi
done_testing

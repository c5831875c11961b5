#!/bin/sh
# The workbench and the command line in Portuguese: the catalogue is complete, is found and used, also if the
# system has no such locale, and numbers do not change.
. "${srcdir:-.}/tests/ui/screen.sh"
PROGRAM=$TINCA
case $PROGRAM in /*) ;; *) PROGRAM=$PWD/$PROGRAM ;; esac
CATALOGUE=${srcdir:-.}/po/pt_BR.po

# --- the catalogue ---
if command -v msgfmt >/dev/null && command -v xgettext >/dev/null; then
    if LC_ALL=C msgfmt -c --statistics -o /dev/null "$CATALOGUE" 2>"$T/statistics" &&
        grep -Eq '^[0-9]+ translated messages\.$' "$T/statistics"; then
        ok "every message of the catalogue is translated, none is fuzzy, and formats agree"
    else
        not_ok "every message of the catalogue is translated, none is fuzzy, and formats agree" "$(cat "$T/statistics")"
    fi
    sh "${srcdir:-.}/po/extract.sh" "${srcdir:-.}" "$T/tinca.pot" 2>"$T/extract"
    if LC_ALL=C msgcmp "$CATALOGUE" "$T/tinca.pot" 2>"$T/missing"; then
        ok "the catalogue has every message of the sources"
    else
        not_ok "the catalogue has every message of the sources" "make update-po, then translate: $(grep -v '^$' "$T/missing" | head -n 20)"
    fi
    # A function that takes messages and is missing in extract.sh shows here.
    if grep -q 'message is not used' "$T/missing"; then
        not_ok "and no message that they do not have" "$(grep 'message is not used' "$T/missing" | head -n 20)"
    else
        ok "and no message that they do not have"
    fi
else
    skip "the catalogue is complete" "gettext is not installed"
fi
if ! [ -f "$(dirname "$PROGRAM")/locale/pt_BR/LC_MESSAGES/tinca.mo" ]; then
    skip "the program speaks Portuguese" "it was built without msgfmt"
    done_testing
fi

# --- the choice of the language ---
says() { # says PATTERN NAME COMMAND...: the error message matches PATTERN
    pattern=$1 name=$2
    shift 2
    "$@" >"$T/out" 2>&1
    if grep -q -- "$pattern" "$T/out"; then ok "$name"; else not_ok "$name" "$(cat "$T/out")"; fi
}
unset LANGUAGE LC_ALL LC_MESSAGES LC_CTYPE
ENGLISH='there is no such command' PORTUGUESE='não existe esse comando'
says "$ENGLISH" "the C locale is English" env LC_ALL=C "$PROGRAM" wrong
says "$ENGLISH" "C.UTF-8 too" env LC_ALL=C.UTF-8 "$PROGRAM" wrong
says "$PORTUGUESE" "LANGUAGE suffices in C.UTF-8" env LC_ALL=C.UTF-8 LANGUAGE=pt_BR "$PROGRAM" wrong
says "$PORTUGUESE" "a Portuguese locale, installed or not" env LANG=pt_BR.UTF-8 "$PROGRAM" wrong
says "$PORTUGUESE" "--language overrides the locale" env LC_ALL=C.UTF-8 "$PROGRAM" wrong --language pt_BR
says "$ENGLISH" "also from Portuguese to English" env LC_ALL=pt_BR.UTF-8 "$PROGRAM" wrong --language en
says 'nao existe esse comando' "without accents in an ASCII locale" env LC_ALL=C "$PROGRAM" wrong --language=pt_BR
says 'pt_BR' "an unknown language is refused, with the known ones" "$PROGRAM" networks --language xx
echo '{"name": "own", "input": [3, 8, 8], "classes": 4, "layers": [{"op": "conv", "output": 4, "kernel": 99999}]}' >"$T/own.json"
says 'linha 1: "kernel" deve ser um inteiro de 1 a 65536' "an error in a file" \
    "$PROGRAM" info "$T/own.json" --language pt_BR
says 'como no exemplo MNIST do Caffe' "the networks' titles" "$PROGRAM" networks --language pt_BR
says 'kernels SIMD' "the descriptions of devices" "$PROGRAM" devices --language pt_BR
for command in networks devices; do
    "$PROGRAM" "$command" --json --language pt_BR >"$T/pt" 2>&1
    if grep -Eq 'exemplo MNIST|kernels SIMD|esta compila' "$T/pt"; then
        not_ok "$command --json stays English" "$(cat "$T/pt")"
    else
        ok "$command --json stays English"
    fi
done
env LC_ALL=pt_BR.UTF-8 "$PROGRAM" info lenet --json >"$T/pt" 2>&1
env LC_ALL=C "$PROGRAM" info lenet --json >"$T/en" 2>&1
if [ -s "$T/en" ] && cmp -s "$T/en" "$T/pt"; then ok "JSON is the same in every language"; else not_ok "JSON is the same in every language"; fi

# --- the workbench ---
need_tmux "the workbench speaks Portuguese"
case $FAKE in /*) ;; *) FAKE=$PWD/$FAKE ;; esac
screen_start 80x24 pt_BR.UTF-8 "$FAKE"
screen_shows 'tinca . Configurar|tinca .. Configurar' "the form's title in Portuguese"
screen_shows '[?] ajuda +q sair +r executar' "and its hints"
screen_keys m
screen_shows 'Ir para' "the menu"
screen_start 40x12 pt_BR.UTF-8 "$FAKE"
screen_shows 'Taxa de largura +0' "at 40x12 fields and values are separated"
done_testing

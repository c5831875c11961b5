#!/bin/sh
# tinca runs --check reads the lines of iterations without JSON where they look as tinca writes them. Lines
# that look different are left to the JSON parser: those that say the same are only reported by the checksum,
# all others as damaged lines.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"

"$TINCA" train mlp --widths 8 --data digits,limit=64 --batch 32 --epochs 3 -q
for folder in "$T"/state/tinca/runs/*; do :; done
journal=$folder/journal.jsonl
cp "$journal" "$T/original"
succeeds "the run is sound" runs --check

# changed NAME SED: changes the third line, and stores what --check says in $T/said
changed() {
    sed -E "3$2" "$T/original" >"$journal"
    if cmp -s "$T/original" "$journal"; then
        not_ok "$1: the line is changed" "$(sed -n 3p "$journal")"
    fi
    "$TINCA" runs --check >"$T/said" 2>&1
}

same_meaning() { # same_meaning NAME SED: only the checksum reports it
    changed "$@"
    if grep -q 'journal.jsonl: the checksum' "$T/said" && ! grep -q 'line 3' "$T/said"; then
        ok "the same meaning: $1"
    else
        not_ok "the same meaning: $1" "$(cat "$T/said")"
    fi
}

damaged() { # damaged NAME PATTERN SED: the line is reported
    changed "$1" "$3"
    if grep -q "line 3 .*$2" "$T/said"; then
        ok "damaged: $1"
    else
        not_ok "damaged: $1" "$(cat "$T/said")"
    fi
}

same_meaning "an exponent" 's/"loss":([0-9.]*)/"loss":\1e0/'
same_meaning "a capital exponent with a sign" 's/"loss":([0-9.]*)/"loss":\1E+0/'
same_meaning "an exponent beyond float32" 's/"loss":([0-9.]*)/"loss":\1e300/'
same_meaning "more digits than a double has" 's/"lr":([0-9.]*)/"lr":\100000000000000000/'
same_meaning "a space before a value" 's/"loss":/"loss": /'
same_meaning "a space before the line" 's/^/ /'
same_meaning "a space behind the line" 's/$/ /'
same_meaning "a carriage return" "s/\$/$(printf '\r')/"
same_meaning "another order" 's/("loss":[^,]*),("loss_caffe":[^,]*),/\2,\1,/'
same_meaning "an iteration with a fraction of 0" 's/"iteration":([0-9]*)/"iteration":\1.0/'

damaged "a member twice" 'not a complete record.*1 members' 's/("loss":[^,]*,)/\1\1/'
damaged "a further member at the end" 'not a complete record.*1 members' 's/\}$/,"x":1}/'
damaged "no learning rate" 'not a complete record.*"lr"' 's/"lr":[^,]*,//'
damaged "a null learning rate" 'not a complete record.*"lr"' 's/"lr":[^,]*/"lr":null/'
damaged "a null epoch" 'not a complete record.*"epoch"' 's/"epoch":[^,]*/"epoch":null/'
damaged "a null time" 'not a complete record.*"seconds"' 's/"seconds":[^,]*/"seconds":null/'
damaged "half an iteration" 'not a complete record.*"iteration"' 's/"iteration":[0-9]*/"iteration":1.5/'
damaged "a text for a number" 'not a complete record.*"iteration"' 's/"iteration":([0-9]*)/"iteration":"\1"/'
damaged "NaN" 'not JSON' 's/"loss":[^,]*/"loss":NaN/'
damaged "a plus sign" 'not JSON' 's/"lr":/"lr":+/'
damaged "a second bracket" 'not JSON' 's/\}$/}}/'
damaged "a letter behind the line" 'not JSON' 's/\}$/}x/'
damaged "no bracket" 'not JSON' 's/\}$//'
damaged "two iterations in a line" 'not JSON' 's/^(.*)$/\1\1/'

head -c -1 "$T/original" >"$journal"
"$TINCA" runs --check >"$T/said" 2>&1
if grep -q 'its end is lost' "$T/said"; then
    ok "the last line feed is missing"
else
    not_ok "the last line feed is missing" "$(cat "$T/said")"
fi
cp "$T/original" "$journal"
succeeds "the original is sound again" runs --check
done_testing

# Sourced by the tests of hostile run folders, after tests/cli/tap.sh: writes hostile text into run folders
# and looks for bytes that must not be in the output.
HOSTILE_JSON=${HOSTILE_JSON:-$(dirname "$TINCA")/hostile_json}

# a clipboard, a title, a cursor, C1 in UTF-8 and alone, overrides, isolates, marks, zero widths, a
# line separator, tags, HTML, Markdown, shell and printf, and bytes that are no UTF-8
hostile_payload() { # hostile_payload FILE: writes the text, as the inside of a JSON string
    printf '%s' 'OWNED\u001b]52;c;T1dORUQ=\u0007\u001b]0;OWNED\u0007\u001b[31;7777mred\u009b7777m' >"$1"
    printf '\302\233\063\061m\233\063\061m\302\220q\342\200\256\342\201\246\342\200\217\330\234' >>"$1"
    printf '\342\200\250\342\200\213\357\273\277\363\240\201\201\377\300\233\355\240\200' >>"$1"
    printf '%s' '\r\t\b\u007f\n<img src=x onerror=alert(1)>|`id`$(touch owned)%n%s%s&amp;[a](b)' >>"$1"
    printf '%s\n' '\n'"'; touch owned; '" >>"$1"
}

# hostile_folder FOLDER [KEY]...: replaces every string of the run except the values of the KEYs
hostile_folder() {
    folder=$1
    shift
    hostile_payload "$T/payload"
    [ "${hostile_short:-}" ] && # for settings with a maximum length
        printf 'O\\u001b]52;c;T\\u0007\302\233m\342\200\256\377\\n<img onerror=a>|`id`$(touch owned)' >"$T/payload"
    [ "${hostile_long:-}" ] && head -c 10000 /dev/zero | tr '\0' 'A' >>"$T/payload"
    cat >>"$folder/journal.jsonl" <<'END'
{"event":"finding","kind":"plateau","iteration":6,"epoch":1.5,"text":"it"}
{"event":"finding","kind":"OTHER","iteration":6,"epoch":1.5,"text":"it"}
{"event":"ranks","iteration":6,"ranks":[{"host":"it","process":7,"iterations":6,"compute_ms":1,"data_ms":0,"wait_ms":null}]}
END
    sed 's/"error": *null/"error": {"kind": 2, "what": "it", "why": "it", "advice": "it"}/; s/"error":	null/"error": {"kind": 2, "what": "it", "why": "it", "advice": "it"}/' \
        "$folder/summary.json" >"$T/summary" && cat "$T/summary" >"$folder/summary.json"
    sed -i '/^\t"crc32":/d' "$folder"/*.json # an attacker would correct the checksums or omit them
    for file in "$folder"/*.json "$folder/journal.jsonl"; do
        "$HOSTILE_JSON" "$T/payload" format event kind status "$@" <"$file" >"$T/changed" &&
            cat "$T/changed" >"$file"
    done
    printf 'a\342\200\256\302\233b<img onerror=x>\n' >"$folder/name.txt"
}

# what a text must not contain: control characters but line feeds and the tabs of JSON; C1; marks that change the
# direction, isolates, the Arabic letter mark, byte order marks, tags
hostile_pattern=$(printf '[^\t -~\200-\377]|\302[\200-\237]|\342\200[\213-\217\250-\256]|\342\201[\240-\257]|\330\234')
hostile_pattern=$hostile_pattern$(printf '|\357\273\277|\363\240[\200-\277]')'|^ *<img|^ *.; touch'

# are_harmless FILE...: whether the files have none of it; one look at all of them, since nearly all are harmless
are_harmless() {
    [ $# = 0 ] || { ! LC_ALL=C grep -aqE "$hostile_pattern" "$@" && ! LC_ALL=C.UTF-8 grep -aqvx '.*' "$@"; }
}

# hostile_bytes FILE...: prints each kind of control or invisible character that the files contain. Line
# feeds and the tabs of JSON are allowed.
hostile_bytes() {
    are_harmless "$@" && return
    for shown; do
        LC_ALL=C tr -d '\n\t' <"$shown" | LC_ALL=C grep -aq '[[:cntrl:]]' && echo "$shown: a control character"
        LC_ALL=C grep -aq "$(printf '\302[\200-\237]')" "$shown" && echo "$shown: C1"
        LC_ALL=C grep -aq "$(printf '\342\200[\213-\217\250-\256]')" "$shown" && echo "$shown: bidirectional"
        LC_ALL=C grep -aq "$(printf '\342\201[\240-\257]')" "$shown" && echo "$shown: isolates"
        LC_ALL=C grep -aq "$(printf '\330\234')" "$shown" && echo "$shown: Arabic letter mark"
        LC_ALL=C grep -aq "$(printf '\357\273\277')" "$shown" && echo "$shown: byte order mark"
        LC_ALL=C grep -aq "$(printf '\363\240[\200-\277]')" "$shown" && echo "$shown: tags"
        iconv -f UTF-8 -t UTF-8 <"$shown" >/dev/null 2>&1 || echo "$shown: no UTF-8"
        grep -aq '^ *<img\|^ *.; touch' "$shown" && echo "$shown: a line that a name begins"
    done
}

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
    journal_lines "$folder/journal" >"$folder/journal.jsonl" # which is read where there is no other journal
    rm -f "$folder/journal"
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

# hostile_kinds: prints what a text must not contain, a line each: the kind, a colon and the pattern. Line feeds and the
# tabs of JSON are allowed.
hostile_kinds() {
    printf '%s:%b\n' 'a control character' '[^\t -~\0200-\0377]' C1 '\0302[\0200-\0237]' \
        bidirectional '\0342\0200[\0213-\0217\0250-\0256]' isolates '\0342\0201[\0240-\0257]' \
        'Arabic letter mark' '\0330\0234' 'byte order mark' '\0357\0273\0277' tags '\0363\0240[\0200-\0277]' \
        'a line that a name begins' '^ *(<img|.; touch)'
}
hostile_pattern=$(hostile_kinds | LC_ALL=C cut -d: -f2- | LC_ALL=C paste -sd '|' -)

# not_utf8 FILE...: whether one of the files has a line that is no UTF-8
not_utf8() { LC_ALL=C.UTF-8 grep -aqvx '.*' "$@"; }

# hostile_bytes FILE...: prints each kind that the files contain. All are looked at together first, since nearly all of
# them have none.
hostile_bytes() {
    [ $# -gt 0 ] && { LC_ALL=C grep -aqE "$hostile_pattern" "$@" || not_utf8 "$@"; } || return 0
    for shown; do
        hostile_kinds | while IFS=: read -r kind pattern; do
            LC_ALL=C grep -aqE "$pattern" "$shown" && echo "$shown: $kind"
        done
        not_utf8 "$shown" && echo "$shown: no UTF-8"
    done
}

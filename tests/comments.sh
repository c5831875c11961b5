#!/bin/sh
# comments.sh [SEED [COUNT]]: prints COUNT (60) comments of src, drawn by the seed (1), each with its file, its line and
# the line of code that follows. They are read as a newcomer would: at most two of 60 may make a reader stop.
srcdir=${srcdir:-.}
find "$srcdir/src" -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.inc' \) | LC_ALL=C sort |
    xargs awk -v seed="${1:-1}" -v count="${2:-60}" '
        function finish(next_line) {
            comment[++comments] = where "\n" text (next_line == "" ? "" : "    | " next_line "\n")
            waiting = 0
        }
        FNR == 1 { if (waiting) finish(""); inside = 0 }
        waiting && !inside && NF { finish($0) }
        !inside && /\/\*/ {
            where = FILENAME ":" FNR
            text = ""
            inside = 1
        }
        inside {
            text = text "    " $0 "\n"
            if (/\*\//) {
                inside = 0
                waiting = 1
            }
        }
        END {
            if (waiting) finish("")
            # the same comments with every awk (Park and Miller 1988)
            state = seed * 48271 % 2147483647 + 1
            for (drawn = 0; drawn < count && comments > 0; drawn++) {
                state = state * 16807 % 2147483647
                i = state % comments + 1
                printf "%s\n", comment[i]
                comment[i] = comment[comments--]
            }
        }'

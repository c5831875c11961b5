#!/bin/sh
# The house rules that a compiler does not check: includes point down, libraries stay in their
# rooms, nothing below cli/ and ui/ prints or exits, files are formatted.
srcdir=${srcdir:-.}
count=0
failed=0

report() { # report STATUS NAME [DETAILS]
    count=$((count + 1))
    if [ "$1" = 0 ]; then
        echo "ok $count - $2"
    else
        echo "not ok $count - $2"
        printf '%s\n' "$3" | sed 's/^/# /'
        failed=1
    fi
}

skip() {
    count=$((count + 1))
    echo "ok $count # SKIP $1: $2"
}

# Lines "file: text" of a tree's sources that match a pattern: matches DIR PATTERN
matches() { grep -rEn --include='*.[ch]' --include='*.cu' -- "$2" "$1" 2>/dev/null; }

# ROOM may include only ALLOWED (a pattern of room names).
wrong_includes() { # wrong_includes ROOT
    while read -r room allowed; do
        [ -d "$1/$room" ] || continue
        matches "$1/$room" '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' |
            grep -Ev "include[[:space:]]*\"((${allowed})/|config\.h\")"
    done <<'RULES'
base base
data base|data
engine base|engine
session base|data|engine|session
ui base|data|engine|session|ui
cli base|data|engine|session|ui|cli
RULES
}

wrong_libraries() { # wrong_libraries ROOT
    matches "$1" 'include[[:space:]]*[<"](ncurses|curses|panel|menu|form)[a-z/]*\.h' |
        grep -v "^$1/ui/"
    matches "$1" 'include[[:space:]]*[<"](cjson/)?cJSON' | grep -v "^$1/base/json\.c:"
    matches "$1" 'include[[:space:]]*[<"](cuda|cublas|cudnn|nccl|nvml|nvrtc)' |
        grep -v "^$1/engine/devices/cuda/"
    matches "$1" 'include[[:space:]]*[<"](cairo|pango)' | grep -v "^$1/session/export/canvas_cairo\.c:"
}

# A line that is a comment may name these functions. Flushing standard output prints nothing new: it
# puts what was printed before in front of a document that goes there.
noisy_rooms() { # noisy_rooms ROOT
    for room in base data engine session; do
        [ -d "$1/$room" ] || continue
        matches "$1/$room" \
            '(^|[^_[:alnum:].>"])(printf|puts|putchar|perror|exit|_exit|abort|assert_fail)[[:space:]]*\(' |
            grep -Ev ':[0-9]+:[[:space:]]*(/?\*|//)'
        matches "$1/$room" 'f(printf|puts|putc)[[:space:]]*\(.*(stderr|stdout)|(stderr|stdout)\)' |
            grep -v 'fflush(stdout);'
    done
}

# Names out of files reach the terminal through output.c (the command line) and draw.c (curses) alone,
# which make them visible.
unescaped() { # unescaped ROOT
    matches "$1/cli" '(^|[^_[:alnum:]])(v?f?printf|puts|fputs|putchar|fputc|putc|fwrite|perror)[[:space:]]*\(' |
        grep -v "^$1/cli/output\.c:"
    matches "$1/ui" '(^|[^_[:alnum:]])(mv)?w?(addn?w?str|printw|add_?w?ch)[[:space:]]*\(' |
        grep -v "^$1/ui/terminal/draw\.c:"
}

unfinished() { # unfinished ROOT
    matches "$1" '(^|[^[:alnum:]])(TODO|FIXME|XXX|HACK)([^[:alnum:]]|$)'
}

check_rule() { # check_rule FUNCTION NAME
    found=$($1 "$srcdir/src")
    [ -z "$found" ]
    report $? "$2" "$found"
}

# The rules must be able to fail: a small tree that breaks each of them.
self_test() {
    tree=$(mktemp -d) || return 1
    mkdir -p "$tree/data" "$tree/engine" "$tree/base" "$tree/cli"
    echo '#include "engine/plan/plan.h"' >"$tree/data/a.c"
    echo '#include <ncursesw/ncurses.h>' >"$tree/engine/b.c"
    printf 'void f(void)\n{\n    printf("x");\n}\n' >"$tree/base/c.c"
    echo '/* TO''DO */' >"$tree/base/d.c"
    echo 'fputs(name, stdout);' >"$tree/cli/e.c"
    [ -n "$(unescaped "$tree")" ] && [ -n "$(wrong_includes "$tree")" ] && [ -n "$(wrong_libraries "$tree")" ] &&
        [ -n "$(noisy_rooms "$tree")" ] && [ -n "$(unfinished "$tree")" ]
    status=$?
    rm -rf "$tree"
    return $status
}

self_test
report $? "the rules notice a tree that breaks them" "one of them does not"
check_rule wrong_includes "includes point down, never up or sideways"
check_rule wrong_libraries "ncurses only in ui/, cJSON only in base/json/json.c, CUDA and Cairo only in their modules"
check_rule noisy_rooms "nothing below cli/ and ui/ prints or exits"
check_rule unescaped "text reaches the terminal through cli/output.c and ui/terminal/draw.c"
check_rule unfinished "nothing is marked as unfinished"

# Another version of clang-format lays some lines out differently.
formatter=clang-format-14
command -v $formatter >/dev/null || formatter=clang-format
if ! $formatter --version 2>/dev/null | grep -q 'version 14\.'; then
    skip "sources are formatted" "there is no clang-format 14 here"
elif [ ! -f "$srcdir/.clang-format" ]; then
    skip "sources are formatted" "the tree has no .clang-format"
else
    found=$(find "$srcdir/src" "$srcdir/tests" -name '*.[ch]' -exec \
        $formatter --style=file --dry-run {} + 2>&1 | grep 'warning:' | cut -d: -f1 | sort | uniq -c)
    [ -z "$found" ]
    report $? "sources are formatted (.clang-format)" "$found"
fi

echo "1..$count"
exit $failed

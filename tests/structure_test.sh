#!/bin/sh
# Checks the rules of the source tree that a compiler does not check: which folder may include which,
# no cycle of includes or calls between folders, where libraries are used, who may print, how long
# functions are, and the layout of the code (clang-format).
#
# A folder is a directory with source files, named relative to src: base, engine/plan, ui/screens/run.
# The check of calls needs a build tree ($builddir, default: the current directory) and nm.
srcdir=${srcdir:-.}
builddir=${builddir:-.}
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

skip() { # skip NAME REASON
    count=$((count + 1))
    echo "ok $count # SKIP $1: $2"
}

# Prints the lines of a tree's sources that match a pattern, as FILE:LINE:TEXT.
matches() { # matches DIRECTORY PATTERN
    grep -rEn --include='*.[ch]' --include='*.cu' -- "$2" "$1" 2>/dev/null
}

# Each function below prints what breaks its rule in the tree ROOT, and nothing if all is well.

# A top-level folder may include itself and the folders below it only.
wrong_includes() { # wrong_includes ROOT
    while read -r folder allowed; do
        [ -d "$1/$folder" ] || continue
        matches "$1/$folder" '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' |
            grep -Ev "include[[:space:]]*\"((${allowed})/|config\.h\")"
    done <<'RULES'
base base
data base|data
engine base|engine
runs base|data|engine|runs
models base|data|engine|runs|models
training base|data|engine|runs|models|training
exchange base|data|engine|runs|models|training|exchange
studies base|data|engine|runs|models|training|exchange|studies
library base|data|engine|runs|models|library
ui base|data|engine|runs|models|training|exchange|studies|ui
cli base|data|engine|runs|models|training|exchange|studies|ui|cli
RULES
}

# Prints a line "FROM TO FILE INCLUDED" for each include of another folder's file.
include_edges() { # include_edges ROOT
    find "$1" -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.inc' \) \
        -exec awk -v root="$1/" '
            function folder(path) { return sub(/\/[^\/]*$/, "", path) ? path : "." }
            /^[[:space:]]*#[[:space:]]*include[[:space:]]*"[^"]*\// {
                split($0, part, "\"")
                file = substr(FILENAME, length(root) + 1)
                if (folder(file) != folder(part[2]))
                    print folder(file), folder(part[2]), file, part[2]
            }' {} +
}

# Reads `nm -A -P` of the objects of src and prints a line "FROM TO OBJECT SYMBOL" for each symbol that
# an object of one folder uses and another folder defines. A folder that defines the symbol itself
# (in several variants, for example) uses its own. `files`: the same of the files of each folder.
call_edges() { # call_edges [files]
    awk -v files="${1-}" '
        function folder(path) { return sub(/\/[^\/]*$/, "", path) ? path : "." }
        # The source file of an object, which its library may be named before: libbase_a-text.o is text
        function source(path, name) {
            name = path
            sub(/^.*\//, "", name)
            sub(/^.*-/, "", name)
            sub(/\.o$/, "", name)
            return folder(path) "/" name
        }
        {
            object = $1
            sub(/:$/, "", object)
            sub(/^.*src\//, "", object)
            sub(/\.libs\//, "", object)
            home = files ? source(object) : folder(object)
            if ($3 ~ /^[TDBRVWCGSi]$/) {
                if (!($2 in definer)) definer[$2] = home
                defined[home, $2] = 1
            } else if ($3 == "U" && !((home, $2) in user)) {
                user[home, $2] = object
            }
        }
        END {
            for (pair in user) {
                split(pair, part, SUBSEP)
                if (!(part[2] in definer) || pair in defined)
                    continue
                if (!files || folder(part[1]) == folder(definer[part[2]]))
                    print part[1], definer[part[2]], user[pair], part[2]
            }
        }'
}

# Reads lines "FROM TO USER USED" and prints the edges that are part of a cycle, each with one example.
cycles() {
    sort | awk '
        !(($1, $2) in example) {
            example[$1, $2] = $3 " uses " $4
            edge[++edges] = $1 SUBSEP $2
            next_of[$1] = next_of[$1] " " $2
            node[$1] = node[$2] = 1
        }
        # Marks every folder that can be reached from `from`, in a walk with an explicit stack.
        function walk(from, stack, top, here, list, i, n) {
            stack[top = 1] = from
            while (top > 0) {
                here = stack[top--]
                n = split(next_of[here], list, " ")
                for (i = 1; i <= n; i++)
                    if (!((from, list[i]) in reached)) {
                        reached[from, list[i]] = 1
                        stack[++top] = list[i]
                    }
            }
        }
        END {
            for (name in node)
                walk(name)
            for (i = 1; i <= edges; i++) {
                split(edge[i], part, SUBSEP)
                if ((part[2], part[1]) in reached)
                    print part[1] " -> " part[2] ": " example[edge[i]]
            }
        }'
}

include_cycles() { # include_cycles ROOT
    include_edges "$1" | cycles
}

# Prints the objects below DIRECTORY/src whose source file still exists: an object of a file that was
# moved or deleted stays in the build tree. An object is named after its file, perhaps with its
# library before it (src/base/libbase_a-text.o).
objects() { # objects ROOT DIRECTORY
    [ -d "$2/src" ] || return 0
    find "$2/src" -name '*.o' | while read -r object; do
        source=${object#"$2"/src/}
        directory=${source%/*}
        directory=${directory%/.libs}
        name=${source##*/}
        name=${name%.o}
        name=${name##*-}
        [ -f "$1/$directory/$name.c" ] || [ -f "$1/$directory/$name.cu" ] && echo "$object"
    done
}

# The library uses of runs and models only how a saved model is read, the ranking of its outputs, and the
# figures of the machine.
library_reaches() { # library_reaches ROOT
    [ -d "$1/library" ] || return 0
    matches "$1/library" '^[[:space:]]*#[[:space:]]*include[[:space:]]*"(runs|models)/' |
        grep -Ev 'include[[:space:]]*"(models/saved/(model_file|ranking)|runs/machine/(machine|autotune)_file)\.h"'
}

# A screen's folder includes no other screen's.
screens_that_meet() { # screens_that_meet ROOT
    include_edges "$1" | awk '
        function screen(path) { split(path, part, "/"); return part[3] }
        $1 ~ /^ui\/screens\/./ && $2 ~ /^ui\/screens\/./ && screen($1) != screen($2) {
            print $3 " includes " $4
        }'
}

# These capabilities share code only through the folders below them.
capabilities_that_meet() { # capabilities_that_meet ROOT
    include_edges "$1" | awk '
        function capability(path) {
            return path ~ /^(studies\/(compare|sweep|pictures)|exchange\/(logs|export))$/ ? path : ""
        }
        capability($1) && capability($2) { print $3 " includes " $4 }'
}

# An execution is a memory and a communicator. None of them includes another, nor names what it defines.
backends_that_meet() { # backends_that_meet ROOT
    for file in "$1"/engine/execution/memory_*.c "$1"/engine/execution/communicator_*.c; do
        for other in "$1"/engine/execution/memory_*.c "$1"/engine/execution/communicator_*.c; do
            name=$(basename "$other" .c)
            [ ! -e "$file" ] || [ "$file" = "$other" ] ||
                grep -HnE "(^|[^_[:alnum:]])$name([^.[:alnum:]]|\$)|#include.*/$name\." "$file"
        done
    done
}

# The body of a formatted function begins with a "{" and ends with a "}" that are alone in column 0.
FUNCTION_MAX=60
long_functions() { # long_functions ROOT
    find "$1" -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.inc' \) \
        -exec awk -v most="$FUNCTION_MAX" '
            FNR == 1 { start = 0 }
            /^\{[[:space:]]*$/ { start = FNR }
            /^\}[[:space:]]*$/ && start {
                if (FNR - start + 1 > most)
                    print FILENAME ":" start ": a function of " FNR - start + 1 " lines, at most " most
                start = 0
            }' {} + | sort
}

# A source file of more than 80 lines opens with a comment that gives its idea.
silent_files() { # silent_files ROOT
    find "$1" -type f \( -name '*.c' -o -name '*.cu' \) \
        -exec awk '
            FNR == 1 { silent = !/^\/\*/ }
            FNR == 81 && silent { print FILENAME " does not open with a comment" }' {} + | sort
}

wrong_libraries() { # wrong_libraries ROOT
    matches "$1" 'include[[:space:]]*[<"](ncurses|curses|panel|menu|form)[a-z/]*\.h' |
        grep -v "^$1/ui/"
    matches "$1" 'include[[:space:]]*[<"](cjson/)?cJSON' | grep -Ev "^$1/base/(json/)?json\.c:"
    matches "$1" 'include[[:space:]]*[<"](cuda|cublas|cudnn|nccl|nvml|nvrtc)' |
        grep -v "^$1/engine/devices/cuda/"
    matches "$1" 'include[[:space:]]*[<"](cairo|pango)' | grep -v "^$1/exchange/export/canvas_cairo\.c:"
}

# A comment may name these functions. fflush(stdout) is allowed: it prints nothing new, and orders
# earlier output before a document that is written to the same descriptor.
noisy_folders() { # noisy_folders ROOT
    for folder in base data engine runs models training exchange studies library; do
        [ -d "$1/$folder" ] || continue
        matches "$1/$folder" \
            '(^|[^_[:alnum:].>"])(printf|puts|putchar|perror|exit|_exit|abort|assert_fail)[[:space:]]*\(' |
            grep -Ev ':[0-9]+:[[:space:]]*(/?\*|//)'
        matches "$1/$folder" 'f(printf|puts|putc)[[:space:]]*\(.*(stderr|stdout)|(stderr|stdout)\)' |
            grep -v 'fflush(stdout);'
    done
}

# Only output.c (the command line) and draw.c (curses) write text to the terminal. They escape the
# names that come from files, so these cannot send control sequences.
unescaped() { # unescaped ROOT
    matches "$1/cli" '(^|[^_[:alnum:]])(v?f?printf|puts|fputs|putchar|fputc|putc|fwrite|perror)[[:space:]]*\(' |
        grep -v "^$1/cli/output\.c:"
    matches "$1/ui" '(^|[^_[:alnum:]])(mv)?w?(addn?w?str|printw|add_?w?ch)[[:space:]]*\(' |
        grep -v "^$1/ui/terminal/draw\.c:"
}

# thread_start gives each thread the stack for the handler of crashes, and blocks signals in it.
other_threads() { # other_threads ROOT
    matches "$1" '(^|[^_[:alnum:]])(pthread_create|thrd_create)[[:space:]]*\(|std::j?thread' |
        grep -v "^$1/base/threads/thread\.c:"
}

# Prints the folders whose code reads settings, as far as they exist.
above_engine() { # above_engine ROOT
    for folder in runs models training exchange studies cli ui; do
        [ ! -d "$1/$folder" ] || echo "$1/$folder"
    done
}

# Prints the column COLUMN (1: members, 2: keys) of the rows of settings, joined by "|".
setting_names() { # setting_names ROOT COLUMN
    tr '\n' ' ' <"$1/runs/settings/settings.inc" |
        grep -oE '[a-z0-9_]+, "[a-z0-9-]+", +(TEXT|COUNT|NUMBER|CHOICE|FLAG)' |
        sed 's/\([^,]*\), "\([^"]*\)".*/\1 \2/' | cut -d' ' -f"$2" | paste -sd'|' -
}

# Code names a setting by its row: KEY(batch), OPTION(batch). Only the row has the key in quotation marks; elsewhere
# the same word is a name of another kind, as in a JSON document.
quoted_settings() { # quoted_settings ROOT
    [ -f "$1/runs/settings/settings.inc" ] || return 0
    find $(above_engine "$1") -name '*.[ch]' -exec awk -v keys="$(setting_names "$1" 2)" '
        BEGIN {
            RS = ";"
            key = "\"(" keys ")\""
            option = "\"--(" keys ")\""
            rule[1] = "config_(set|put|put_count|get|find|forget|is_given|is_known|suggestion|short_value|absolute_value)[(][^\"?]*" key "[,)]"
            rule[2] = "(sweep_grid_(axis|varies|vary|add)|run_field_find)[(][^\"]*" key "[,)]"
            rule[3] = "strcmp[(][^\",]*key[^\",]*,[[:space:]]*" key "[)]"
            rule[4] = "error_set[(][^\"]*" option
            rule[5] = "= [{][[:space:]]*" key "(" key "|NULL|[,[:space:]])*[}]"
            rule[6] = "[.]unused = " key
        }
        {
            for (i in rule)
                if (match($0, rule[i])) {
                    found = substr($0, RSTART, RLENGTH)
                    gsub(/[[:space:]]+/, " ", found)
                    print FILENAME ": " found
                }
        }' {} + | sort
}

# Which settings a command takes, a comparison ignores or a screen shows is said in their rows, not in a list of keys.
# Presets are such lists; the check of a run knows which settings every version has written.
lists_of_settings() { # lists_of_settings ROOT
    find $(above_engine "$1") -name '*.c' ! -name presets.c ! -name run_check_json.c -exec awk '
        BEGIN { RS = ";" }
        {
            list = /\[\] = [{]/ ? gsub(/KEY[(]/, "&") : gsub(/== KEY[(]|KEY[(][a-z0-9_]*[)][)] [!=]= 0/, "&")
            if (list > 4 || (list == 4 && !/\[\] = [{]/))
                print FILENAME ": a list of " list " settings"
        }' {} + | sort
}

# Other folders read the settings by class (settings.h) and set them by functions.
read_settings() { # read_settings ROOT
    [ -f "$1/runs/settings/settings.inc" ] || return 0
    members=$(setting_names "$1" 1)
    for folder in $(above_engine "$1"); do
        matches "$folder" "config(->|[.])(${members}|has_iterations|data_divides|outputs_kept|given)([^[:alnum:]_]|\$)"
    done | grep -v "^$1/runs/settings/"
}

# A comment names files that exist.
missing_files() { # missing_files ROOT
    { find "$1" "$srcdir/tests" -type f -name '*.*' | sed 's,.*/,,'; printf '%s\n' config.h net.c; } >"${TMPDIR:-/tmp}/names.$$"
    find "$1" -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.inc' \) -exec awk '
        FNR == NR { known[$0] = 1; next }
        !/^[[:space:]]*#/ && match($0, /\/\*.*|^[[:space:]]*\*.*/) {
            text = substr($0, RSTART)
            while (match(text, /(^|[^A-Za-z0-9_.\/-])[a-z][a-z0-9_]+\.(c|h|inc|cu)([^A-Za-z0-9_]|$)/)) {
                name = substr(text, RSTART, RLENGTH)
                gsub(/^[^a-z]|[^a-z]$/, "", name)
                if (!(name in known))
                    print FILENAME ":" FNR ": " name " does not exist"
                text = substr(text, RSTART + RLENGTH - 1)
            }
        }' "${TMPDIR:-/tmp}/names.$$" {} +
    rm -f "${TMPDIR:-/tmp}/names.$$"
}

unfinished() { # unfinished ROOT
    matches "$1" '(^|[^[:alnum:]])(TODO|FIXME|XXX|HACK)([^[:alnum:]]|$)'
}

check_rule() { # check_rule FUNCTION NAME
    found=$($1 "$srcdir/src")
    [ -z "$found" ]
    report $? "$2" "$found"
}

# A small tree that breaks every rule.
make_broken_tree() { # make_broken_tree ROOT
    mkdir -p "$1/base" "$1/data" "$1/engine/plan" "$1/engine/graph" "$1/engine/ops" "$1/cli" "$1/library" \
        "$1/engine/execution" \
        "$1/runs/settings" "$1/studies/sweep" "$1/studies/pictures" "$1/ui/screens/run/parts" "$1/ui/screens/runs"
    echo '#include "engine/plan/plan.h"' >"$1/data/upward.c"
    echo '#include <ncursesw/ncurses.h>' >"$1/engine/curses.c"
    printf 'void f(void)\n{\n    printf("x");\n}\n' >"$1/base/noisy.c"
    echo '/* TO''DO */' >"$1/base/unfinished.c"
    echo 'pthread_create(&thread, NULL, work, NULL);' >"$1/base/thread.c"
    echo 'fputs(name, stdout);' >"$1/cli/unescaped.c"
    echo '/* See forgotten.c. */' >"$1/cli/comment.c"
    echo '#include "engine/graph/graph.h"' >"$1/engine/plan/plan.c"
    echo '#include "engine/ops/ops.h"' >"$1/engine/graph/graph.h"
    echo '#include "engine/plan/plan.h"' >"$1/engine/ops/ops.h"
    echo '#include "studies/sweep/sweep.h"' >"$1/studies/pictures/study.c"
    echo '#include "models/saved/evaluate.h"' >"$1/library/reach.c"
    echo '    memory_host_bind(execution, batch);' >"$1/engine/execution/memory_device.c"
    echo '#include "engine/execution/memory_device.c"' >"$1/engine/execution/memory_host.c"
    echo '#include "ui/screens/runs/runs.h"' >"$1/ui/screens/run/parts/part.c"
    awk 'BEGIN { print "void g(void)\n{"; for (i = 0; i < 59; i++) print "    x++;"; print "}" }' \
        >"$1/base/long.c"
    awk 'BEGIN { for (i = 0; i <= 80; i++) print "" }' >"$1/base/silent.c"
    printf 'SETTING(TRAINING, learning_rate, "lr",\n        NUMBER, 0.01)\n' >"$1/runs/settings/settings.inc"
    echo 'config_set(&run->config, "lr", text, NULL);' >"$1/studies/pictures/key.c"
    echo 'return config->learning_rate;' >"$1/studies/pictures/read.c"
    echo 'keys[] = {KEY(a), KEY(b), KEY(c), KEY(d), KEY(e)};' >"$1/studies/pictures/list.c"
    echo 'return strcmp(key, KEY(a)) == 0 || key == KEY(b) || key == KEY(c) || key == KEY(d);' >"$1/studies/pictures/chain.c"
}

# A small tree that comes close to breaking the rules about folders and functions, and does not.
make_sound_tree() { # make_sound_tree ROOT
    mkdir -p "$1/engine/plan" "$1/engine/ops" "$1/engine/execution" "$1/cli" "$1/ui/screens/run/parts"
    echo '/* memory_host.c */ memory_device; execution->memory->bind;' >"$1/engine/execution/memory_device.c"
    echo 'memory_new(); memory_host;' >"$1/engine/execution/memory_host.c"
    echo '/* memory_host.c, unlike include/other.h, stands beside it: p.c[0]. */ p.c = 1;' >"$1/engine/execution/comment.h"
    echo '#include "engine/ops/ops.h"' >"$1/engine/plan/plan.c"
    echo '#include "engine/ops/other.h"' >"$1/engine/ops/ops.h"
    echo '#include "ui/screens/run/run.h"' >"$1/ui/screens/run/parts/part.c"
    awk 'BEGIN { print "void g(void)\n{"; for (i = 0; i < 58; i++) print "    x++;"; print "}" }' \
        >"$1/engine/plan/long.c"
    awk 'BEGIN { print "/* An idea. */"; for (i = 0; i <= 80; i++) print "" }' >"$1/engine/plan/idea.c"
    awk 'BEGIN { for (i = 0; i < 80; i++) print "" }' >"$1/engine/plan/short.c"
    mkdir -p "$1/runs/settings" "$1/runs/folder"
    echo 'SETTING(TRAINING, learning_rate, "lr", NUMBER, 0.01)' >"$1/runs/settings/settings.inc"
    echo 'keys[] = {KEY(a), KEY(b), KEY(c), KEY(d)};' >"$1/runs/folder/few.c"
    echo 'json_add_number(line, "lr", training_settings(config).learning_rate);' >"$1/runs/folder/journal.c"
}

FOLDER_RULES='wrong_includes include_cycles library_reaches screens_that_meet capabilities_that_meet
    backends_that_meet long_functions silent_files wrong_libraries noisy_folders unescaped other_threads
    quoted_settings lists_of_settings read_settings missing_files unfinished'

# Prints the rules that miss a violation or report a sound tree.
broken_rules() {
    tree=$(mktemp -d) || return
    make_broken_tree "$tree/broken"
    make_sound_tree "$tree/sound"
    for rule in $FOLDER_RULES; do
        [ -n "$($rule "$tree/broken")" ] || echo "$rule misses a violation"
        found=$($rule "$tree/sound")
        [ -z "$found" ] || echo "$rule reports a sound tree: $found"
    done
    [ "$(backends_that_meet "$tree/broken" | wc -l)" -eq 2 ] ||
        echo "backends_that_meet does not name the call and the include"
    [ "$(lists_of_settings "$tree/broken" | wc -l)" -eq 2 ] ||
        echo "lists_of_settings does not name the list and the comparisons"
    [ "$(include_cycles "$tree/broken" | wc -l)" -eq 3 ] ||
        echo "include_cycles does not name the three edges of a cycle"
    rm -rf "$tree"
    # plan calls graph, and graph calls plan; only the header of ops declares plan_run. The second
    # tree of symbols has the edge of plan only, and a symbol that two folders define.
    found=$(printf '%s\n' \
        './src/engine/plan/libengine_a-plan.o: plan_run T 0 10' \
        './src/engine/plan/libengine_a-plan.o: graph_open U' \
        './src/engine/graph/.libs/graph.o: graph_open T 0 10' \
        './src/engine/graph/.libs/graph.o: plan_run U' | call_edges | cycles)
    [ "$(printf '%s\n' "$found" | grep -c 'engine/.* -> engine/.*: .*\.o uses ')" = 2 ] ||
        echo "call_edges misses a cycle of calls"
    found=$(printf '%s\n' \
        './src/engine/plan/plan.o: fill T 0 10' './src/engine/plan/plan.o: graph_open U' \
        './src/engine/graph/graph.o: graph_open T 0 10' './src/engine/graph/fill.o: fill T 0 10' \
        './src/engine/graph/graph.o: fill U' | call_edges | cycles)
    [ -z "$found" ] || echo "call_edges reports calls without a cycle: $found"
    found=$(printf '%s\n' \
        './src/engine/plan/libengine_a-plan.o: plan_run T 0 10' \
        './src/engine/plan/libengine_a-plan.o: graph_open U' \
        './src/engine/plan/step.o: plan_run U' './src/engine/plan/step.o: step_run T 0 10' \
        './src/engine/plan/plan.o: step_run U' './src/engine/graph/graph.o: graph_open T 0 10' \
        './src/engine/graph/graph.o: plan_run U' | call_edges files | cycles)
    [ "$found" = "engine/plan/plan -> engine/plan/step: engine/plan/plan.o uses step_run
engine/plan/step -> engine/plan/plan: engine/plan/step.o uses plan_run" ] ||
        echo "call_edges misses a cycle between files, or reports one between folders: $found"
}

check_call_cycles() { # check_call_cycles NAME [files]
    name=$1
    list=$(mktemp) || return
    objects "$srcdir/src" "$builddir" >"$list"
    if ! command -v nm >/dev/null; then
        skip "$name" "there is no nm here"
    elif [ ! -s "$list" ]; then
        skip "$name" "there are no object files below ${builddir}/src; build first, or set builddir"
    else
        found=$(xargs nm -A -P <"$list" 2>/dev/null | call_edges ${2-} | cycles)
        [ -z "$found" ]
        report $? "$name" "$found"
    fi
    rm -f "$list"
}

# formatted_files: prints the files whose format is checked: in CI all sources and tests, else every fourth of them and
# those that the last commit and the working tree have changed. clang-format takes 13 s for all.
formatted_files() {
    {
        find "$srcdir/src" "$srcdir/tests" -type f \( -name '*.[ch]' -o -name '*.cu' \) | sort |
            if [ "${CI-}" ]; then cat; else awk 'NR % 4 == 1'; fi
        git -C "$srcdir" diff --name-only --relative HEAD~1 -- src tests 2>/dev/null | grep '\.\([ch]\|cu\)$' |
            while read -r file; do [ -f "$srcdir/$file" ] && echo "$srcdir/$file"; done
    } | sort -u
}

# linked_files: prints the symbolic links of the repository: none is needed, and one that a command has left behind
# may lead out of the tree
linked_files() { git -C "$srcdir" ls-files --stage 2>/dev/null | sed -n 's/^120000 .*\t//p'; }

# Other versions of clang-format break some lines differently.
check_format() {
    name="sources are formatted (.clang-format)"
    formatter=clang-format-14
    command -v $formatter >/dev/null || formatter=clang-format
    if ! $formatter --version 2>/dev/null | grep -q 'version 14\.'; then
        skip "$name" "there is no clang-format 14 here"
    elif [ ! -f "$srcdir/.clang-format" ]; then
        skip "$name" "the tree has no .clang-format"
    else
        found=$(formatted_files | xargs $formatter --style=file --dry-run 2>&1 | grep 'warning:' | cut -d: -f1 | sort | uniq -c)
        [ -z "$found" ]
        report $? "$name" "$found"
    fi
}

found=$(broken_rules)
[ -z "$found" ]
report $? "each rule reports a tree that breaks it, and no other" "$found"
check_rule wrong_includes "top-level folders include only the folders below them"
check_rule include_cycles "no cycle of includes between folders"
check_call_cycles "no cycle of calls between folders"
check_call_cycles "no cycle of calls between the files of a folder" files
check_rule library_reaches "the library uses of runs and models what reads saved models and ranks their outputs"
check_rule screens_that_meet "no screen includes another screen"
check_rule capabilities_that_meet "compare, sweep, study, import and export do not include each other"
check_rule backends_that_meet "no memory or communicator of an execution knows another"
check_rule long_functions "no function has more than $FUNCTION_MAX lines"
found=$(linked_files)
[ -z "$found" ]
report $? "the repository has no symbolic link" "$found"
check_rule silent_files "source files of more than 80 lines open with their idea"
check_rule wrong_libraries "ncurses only in ui/, cJSON only in base's json.c, CUDA only in its device"
check_rule noisy_folders "nothing below cli/ and ui/ prints or exits"
check_rule unescaped "text reaches the terminal through cli/output.c and ui/terminal/draw.c"
check_rule other_threads "threads start through base/threads/thread.c"
check_rule quoted_settings "settings are named by their rows: KEY(batch), not \"batch\""
check_rule lists_of_settings "no list of keys says which settings are meant"
check_rule read_settings "settings are read by class"
check_rule missing_files "comments name files that exist"
check_rule unfinished "nothing is marked as unfinished"
check_format

echo "1..$count"
exit $failed

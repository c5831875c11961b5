#!/bin/sh
# The manual pages name every option and command, and are well-formed.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"

# Each command has a page, which tinca(1) lists in the order of --help.
for command in $(subcommands); do
    if [ -f "$srcdir/man/tinca-$command.1" ]; then ok "$command has a page"; else not_ok "$command has a page"; fi
done
subcommands >"$T/commands"
sed -n '/^\.Sh COMMANDS/,/^\.Sh OPTIONS/s/^\.It Cm //p' "$srcdir/man/tinca.1" >"$T/listed"
if cmp -s "$T/commands" "$T/listed"; then
    ok "tinca(1) lists the commands in the order of --help"
else
    not_ok "tinca(1) lists the commands in the order of --help" "$(diff "$T/commands" "$T/listed")"
fi

# The options of each command are those that its page has: no more, and no fewer. Settings of a run have a section of
# tinca-train(1), and those of the workbench a page.

# documented COMMAND: prints "OPTION item" for each option that has an item on the command's page, and "OPTION text" for
# options that the text names
documented() {
    awk '/^\.Sh / { settings = /^\.Sh OPTIONS OF A RUN/ }
        !settings && /^\./ {
            where = /^\.It Fl/ ? "item" : "text"
            sub(/^\./, "")
            for (i = 1; i < NF; i++)
                if ($i == "Fl" && $(i + 1) == "Fl")
                    print $(i + 2), where
        }' "$srcdir/man/tinca-$1.1" | sort -u
}

# options_of COMMAND: prints its options, as --help lists them
options_of() {
    run "$1" --help
    sed -n 's/^ *\(-[a-z], \)\{0,1\}--\([a-z0-9-]*\).*/\2/p' "$T/out" | sort -u
}

run ui --help
sed -n '1,/^ *--tune/s/^ *--\([a-z0-9-]*\).*/\1/p' "$T/out" | grep -vx tune | sort -u >"$T/settings"
sed -n '/--colours/,/--language/s/^ *--\([a-z-]*\).*/\1/p' "$T/out" | sort -u >"$T/preferences"
sed -n '/^\.Sh OPTIONS OF A RUN/,/^\.Sh [^O]/p' "$srcdir/man/tinca-train.1" | grep '^\.It Fl' | grep -o 'Fl Fl [a-z0-9-]*' |
    sed 's/Fl Fl //' | sort -u >"$T/run-options"
if [ -s "$T/settings" ] && cmp -s "$T/settings" "$T/run-options"; then
    ok "OPTIONS OF A RUN has the settings of a run, and nothing else"
else
    not_ok "OPTIONS OF A RUN has the settings of a run, and nothing else" "$(diff "$T/run-options" "$T/settings")"
fi
printf '%s\n' help json language quiet tune version | cat - "$T/settings" | sort >"$T/elsewhere"
for command in $(subcommands); do
    options_of "$command" >"$T/options"
    documented "$command" >"$T/documented"
    sed -n 's/ item$//p' "$T/documented" | comm -23 - "$T/options" >"$T/surplus"
    if [ -s "$T/surplus" ]; then
        not_ok "the page of $command has only its options" "$(cat "$T/surplus")"
    else
        ok "the page of $command has only its options"
    fi
    [ "$command" != ui ] || documented train >>"$T/documented" # it takes train's
    sed 's/ [a-z]*$//' "$T/documented" | sort -u >"$T/named"
    comm -23 "$T/options" "$T/named" | comm -23 - "$T/elsewhere" | comm -23 - "$T/preferences" >"$T/missing"
    if [ -s "$T/missing" ]; then
        not_ok "the page of $command has each of its options" "$(cat "$T/missing")"
    else
        ok "the page of $command has each of its options"
    fi
done

# Every operator and block of the lists, by the name in network files.
for name in $(sed -n 's/^\(OPERATOR\|BLOCK\)(\([a-z0-9_]*\))$/\2/p' \
    "$srcdir/src/engine/ops/operators.inc" "$srcdir/src/engine/blocks/blocks.inc"); do
    if grep -q "\b$name\b" "$srcdir/man/tinca-network.5"; then
        ok "tinca-network(5) names $name"
    else
        not_ok "tinca-network(5) names $name"
    fi
done

# Every setting of the workbench; these are the options from --colours on.
run ui --help
for key in $(sed -n '/--colours/,/--help/s/^ *--\([a-z-]*\).*/\1/p' "$T/out"); do
    if grep -q "^\.It Cm .*\b$key\b" "$srcdir/man/tinca-config.5"; then
        ok "tinca-config(5) names $key"
    else
        not_ok "tinca-config(5) names $key"
    fi
done

# The examples are written to files, and every technique can be applied to them.
awk -v folder="$T" '/^\.Bd -literal/ { file = folder "/example" ++n ".json"; next }
    /^\.Ed/ { file = "" } file { print > file }' "$srcdir/man/tinca-network.5"
for example in 1 2; do
    for technique in none dsc shuffle shift; do
        succeeds "example $example of tinca-network(5) is a network, also with technique $technique" \
            info "$T/example$example.json" --technique "$technique" --json
    done
done
succeeds "example 3 leaves widths and activation open" \
    info "$T/example3.json" --widths 64 --activation sigmoid --json
succeeds "example 4 has dilations and gates" info "$T/example4.json" --json

# Every function of the library's header.
for name in $(sed -n 's/.*\b\(tinca_[a-z_]*\)(.*/\1/p' "$srcdir/include/tinca.h" | sort -u); do
    if grep -q "^\.Fn $name\b" "$srcdir/man/libtinca.3"; then
        ok "libtinca(3) names $name"
    else
        not_ok "libtinca(3) names $name"
    fi
done

# --- form and references ---
for path in "$srcdir"/man/*.[1-8]; do
    page=${path##*/}
    if ! command -v groff >/dev/null; then
        skip "$page is well-formed" "there is no groff here"
    else
        complaints=$(groff -mandoc -Tutf8 -z -ww "$path" 2>&1)
        if [ -z "$complaints" ]; then ok "$page is well-formed"; else not_ok "$page is well-formed" "$complaints"; fi
    fi
    missing=
    for reference in $(sed -n 's/^\.\(Pq\( see\)\{0,1\} \)\{0,1\}Xr \(tinca[a-z-]*\|libtinca\) \([1-8]\).*/\3.\4/p' "$path" | sort -u); do
        [ -f "$srcdir/man/$reference" ] || missing="$missing $reference"
    done
    if [ -z "$missing" ]; then ok "$page refers to pages that exist"; else not_ok "$page refers to pages" "$missing"; fi
done
done_testing

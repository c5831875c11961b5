#!/bin/sh
# The figures of the machine: the first command that computes measures and stores them, later ones use
# them, --tune measures again, and a cache that is damaged or cannot be written stops nothing. The test
# never looks at how large a figure is.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"

XDG_CACHE_HOME=$T/own
file=$XDG_CACHE_HOME/tinca/machines.json
network="lenet --mode infer --device cpu --threads 2"

succeeds "devices knows no figures at first" devices --json
is "  as it says" machine.measured false
is "  and where they would be" machine.file "$file"
succeeds "  in words, too" devices
shows "have not been measured" "  with what to do"
[ ! -e "$file" ] && ok "  and it stores none" || not_ok "  and it stores none"

succeeds "info measures them" info $network --json
is "  and says so" machine.source measured
is "  the file has a format" format tinca-machines "$file"
has "  and figures" machines.0.seconds.conv_multiply_add_2 "$file"
cp "$file" "$T/first.json"
succeeds "a second command" info $network --json
is "  reads them" machine.source stored
succeeds "bench uses them" bench $network --iterations 2 --json
cmp -s "$file" "$T/first.json" && ok "  and measures nothing" || not_ok "  and measures nothing"
succeeds "info says it in words" info $network
shows "^Chosen by the stored figures of this machine" "  at its end"

old=$(ls -i "$file")
succeeds "bench --tune" bench $network --iterations 2 --tune --json
[ "$old" != "$(ls -i "$file")" ] && ok "  replaces the file" || not_ok "  replaces the file"
succeeds "devices --tune" devices --tune --json
is "  has figures" machine.measured true
is "  which it has stored" machine.source measured
has "  for each kind of work" machine.seconds.hand_over
succeeds "devices shows them" devices
shows "^Their file: $file" "  and their file"
succeeds "info --tune measures" info $network --tune --json
is "  and says so" machine.source measured
TINCA_CPU=generic
export TINCA_CPU
succeeds "another instruction set" info $network --json
is "  has its own figures" machine.source measured
is "  beside the others" machines.# 2 "$file"
unset TINCA_CPU
succeeds "which remain" info $network --json
is "  as they were" machine.source stored

echo '{"format": "tinca-machines", "vers' >"$file"
succeeds "a damaged file" info $network --json
is "  is replaced" machine.source measured
has "  by a whole one" machines.0.processor "$file"
echo '{"format": "tinca-machines", "version": 99, "machines": []}' >"$file"
succeeds "a file of another version" info $network --json
is "  is replaced, too" machine.source measured
rm "$file" && mkfifo "$file"
succeeds "a FIFO stops nothing" info $network --json
rm -f "$file"

XDG_CACHE_HOME=/dev/null
succeeds "a cache that cannot be written" info $network --json
is "  leads to fixed rules" machine.source fixed
succeeds "  with the reason in words" info $network
shows "^Chosen by fixed rules" "  at its end"
succeeds "bench computes then" bench $network --iterations 2 --json
succeeds "also with --tune" bench $network --iterations 2 --tune --json
succeeds "info --tune measures for itself" info $network --tune --json
is "  and says that it is not stored" machine.source unstored
succeeds "devices --tune, too" devices --tune --json
is "  and has figures" machine.measured true
if [ "$(id -u)" = 0 ]; then
    skip "a folder without permission" "root may write everywhere"
else
    XDG_CACHE_HOME=$T/closed
    mkdir -p "$XDG_CACHE_HOME/tinca"
    chmod 500 "$XDG_CACHE_HOME/tinca"
    succeeds "a folder without permission" info $network --json
    is "  leads to fixed rules" machine.source fixed
fi
refuses 2 "no such option" "commands that do not compute have no --tune" runs --tune
done_testing

#!/bin/sh
# Stopped runs of earlier versions, which are stored in tests/cli/old_checkpoints, resume to the bits that the version
# that stopped them would have computed: one with averaged weights, a plateau and early stopping, one in bf16, one with
# a teacher, one with a discriminator.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
old=$(cd "$srcdir/tests/cli/old_checkpoints" && pwd)
. "$old/networks.sh"
cd "$T" || exit 99
umask 077
awk -v to="$T" -f "$old/../old_runs/unpack.awk" "$old"/*.run
write_networks
base64 -d "$old/teacher.base64" >teacher.safetensors

kinds=0
for file in "$old"/*.run; do
    label=$(basename "$file" .run)
    folder=$T/$(sed -n 's/^@run //p' "$file")
    kinds=$((kinds + 1))
    run resume "$folder" --max-time '' -q
    [ "$status" = 0 ] && ok "$label resumes" || not_ok "$label resumes" "$(told)"
    while read -r of name sum; do
        [ "$of" = "$label" ] || continue
        [ -f "$folder/$name" ] && found=$(sum_of "$folder/$name") || found="no such file"
        [ "$found" = "$sum" ] && ok "  $name has the bits of its version" ||
            not_ok "  $name has the bits of its version" "$found instead of $sum"
    done <"$old/sums"
done

# The numbers of a checkpoint keep their names, but for the checksum of the journal, whose form is another.
keys() { # keys FILE: prints the names in its metadata
    head -c $(($(od -An -tu8 -N8 "$1") + 8)) "$1" | tail -c +9 | grep -ao '"tinca\.[a-z0-9_.]*":' | sort
}
rm -rf "$T/adversarial"
awk -v to="$T" -f "$old/../old_runs/unpack.awk" "$old"/*-adversarial.run
keys "$T/adversarial/checkpoint.safetensors" | sed s/journal_crc32/journal_sum/ >before
run train /proc/self/cwd/pooled.json --data digits,limit=20 --batch 10 --epochs 1000 --max-time 0.001s --device reference \
    --threads 1 --run-dir "$T/present" -q
keys "$T/present/checkpoint.safetensors" >now
[ "$(comm -23 before now)" = "" ] && [ "$(wc -l <before)" -gt 60 ] && ok "checkpoints have the numbers of earlier ones" ||
    not_ok "checkpoints have the numbers of earlier ones" "$(diff before now)"
[ $kinds -ge 4 ] && ok "$kinds runs were resumed" || not_ok "the stored runs are found" "$(ls "$old")"
done_testing

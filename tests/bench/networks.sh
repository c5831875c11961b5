#!/bin/sh
# Prints ms/image of each built-in network on this machine: `make bench`. Arguments name networks.
TINCA=${TINCA:-./tinca}
networks=${*:-$("$TINCA" networks | sed 1d | cut -d' ' -f1)}
printf '%-12s %-6s %6s %12s %12s\n' network mode batch ms/image images/s
for network in $networks; do
    for case in "train 32" "infer 1" "infer 32"; do
        "$TINCA" bench "$network" --mode "${case% *}" --batch "${case#* }" --iterations 5 |
            awk -v network="$network" -v mode="${case% *}" -v batch="${case#* }" '
                /ms\/image/ { ms = $3 + 0 }
                /images\/s/ { printf "%-12s %-6s %6d %12.4g %12.4g\n", network, mode, batch, ms, $2 }'
    done
done

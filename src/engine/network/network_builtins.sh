#!/bin/sh
# Prints C source that holds the network files named as arguments, in their order.
printf '/* made from networks/ by network_builtins.sh: edit those files, not this one */\n'
printf '#include "engine/network/network.h"\n\nconst struct network_builtin network_builtins[] = {\n'
for file in "$@"; do
    name=${file##*/}
    printf '    {"%s",\n' "${name%.json}"
    sed 's/\\/\\\\/g; s/"/\\"/g; s/^/     "/; s/$/\\n"/' "$file" || exit 1
    printf '    },\n'
done
printf '};\n\nconst size_t network_builtin_count = %s;\n' $#

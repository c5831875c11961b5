#!/bin/sh
# Prints C source that holds the mappings named as arguments, in their order.
printf '/* made from mappings/ by names_builtins.sh: edit those files, not this one */\n'
printf '#include "engine/weights/weights_names.h"\n\nconst struct weights_names_builtin weights_names_builtins[] = {\n'
for file in "$@"; do
    name=${file##*/}
    printf '    {"%s",\n' "${name%.json}"
    sed 's/\\/\\\\/g; s/"/\\"/g; s/^/     "/; s/$/\\n"/' "$file" || exit 1
    printf '    },\n'
done
printf '};\n\nconst size_t weights_names_builtin_count = %s;\n' $#

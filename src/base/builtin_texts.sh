#!/bin/sh
# Prints C source that holds files as texts: builtin_texts.sh HEADER NAME FILE... defines struct NAME NAMEs[] and
# NAME_count, in the order of the files.
header=$1
name=$2
shift 2
printf '/* made by builtin_texts.sh: edit the files that it has read, not this one */\n'
printf '#include "%s"\n\nconst struct %s %ss[] = {\n' "$header" "$name" "$name"
for file in "$@"; do
    base=${file##*/}
    printf '    {"%s",\n' "${base%.json}"
    sed 's/\\/\\\\/g; s/"/\\"/g; s/^/     "/; s/$/\\n"/' "$file" || exit 1
    printf '    },\n'
done
printf '};\n\nconst size_t %s_count = %s;\n' "$name" $#

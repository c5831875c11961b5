#!/bin/sh
# Prints the commit that a tree of sources is, as a name (build_commit.sh name DIR) or as a file of C
# (build_commit.sh source DIR): that of a clone, followed by "-modified" if files differ from it, or the one
# in commit.txt, which make dist writes. The name is empty if neither is there.
what=$1 tree=$2
commit=
if [ -e "$tree/.git" ] && command -v git >/dev/null; then
    commit=$(git -C "$tree" rev-parse --short=12 HEAD 2>/dev/null) || commit=
    [ -z "$commit" ] || git --no-optional-locks -C "$tree" diff --quiet HEAD -- 2>/dev/null ||
        commit=$commit-modified
elif [ -r "$tree/commit.txt" ]; then
    read -r commit <"$tree/commit.txt"
fi
case $what in
source) printf '#include "cli/internal.h"\n\nconst char build_commit[] = "%s";\n' "$commit" ;;
*) printf '%s\n' "$commit" ;;
esac

#!/bin/sh
# extract.sh SOURCE POT: collects the messages of the sources below SOURCE into the file POT.
# error_set translates three of its arguments, and xgettext takes one a pass for a keyword.
set -eu
source=$1 pot=$2
list=$(cd "$source" && find src -name '*.c' -o -name '*.h' | LC_ALL=C sort)
case $pot in /*) ;; *) pot=$PWD/$pot ;; esac
rm -f "$pot"

pass() { # pass OPTION...
    # shellcheck disable=SC2086 # a list of names without blanks
    (cd "$source" && ${XGETTEXT:-xgettext} --language=C --from-code=UTF-8 --package-name=tinca \
        --add-comments=TRANSLATORS --no-wrap -k "$@" -o "$pot" $list)
}

pass -k_ -kN_ -kngettext:1,2 -kapp_say:3 --flag=app_say:3:c-format --flag=ngettext:1:pass-c-format \
    --flag=ngettext:2:pass-c-format --flag=_:1:pass-c-format --flag=N_:1:pass-c-format
pass -j -kerror_set:3 -kerror_set_errno:2 -kerror_set_memory:2
pass -j -kerror_set:4 -kerror_set_errno:3
pass -j -kerror_set:5 --flag=error_set:5:c-format -kerror_set_errno:4

#!/bin/sh
# extract.sh SOURCE POT: collects the messages of the sources below SOURCE into the file POT.
# error_set translates three of its arguments, and xgettext takes one a pass for a keyword.
set -eu
source=$1 pot=$2
list=$(cd "$source" && find src -name '*.c' -o -name '*.h' -o -name '*.inc' -o -name '*.cu' | LC_ALL=C sort)
case $pot in /*) ;; *) pot=$PWD/$pot ;; esac
rm -f "$pot"

pass() { # pass OPTION...
    # shellcheck disable=SC2086 # a list of names without blanks
    (cd "$source" && ${XGETTEXT:-xgettext} --language=C --from-code=UTF-8 --package-name=tinca \
        --add-comments=TRANSLATORS --no-wrap -k "$@" -o "$pot" $list)
}

pass -k_ -kN_ -kngettext:1,2 -kapp_say:3 --flag=app_say:3:c-format \
    --flag=output_print:1:c-format --flag=output_note:1:c-format --flag=print_line:1:c-format \
    --flag=visible_append_format:3:c-format \
    --flag=ngettext:1:pass-c-format --flag=ngettext:2:pass-c-format --flag=_:1:pass-c-format --flag=N_:1:pass-c-format
pass -j -kerror_set:3 -kerror_set_errno:2 -kerror_set_memory:2
pass -j -kerror_set:4 -kerror_set_errno:3
# functions that hand their words on to error_set; 3t and 4t tell namesakes apart
pass -j -klayer_fail:3 --flag=layer_fail:3:c-format -kfail_at:3,3t -kfail_at:4,4t -kwrong:4,4t \
    -krefuse:3,4t -krefuse_member:4 -kmemory_new:3 -kmemory_new_aligned:3 -kmemory_grow:5 \
    -kallocate:3,4t -knew_floats:3 -kexecution_take:3,4t -kallocate_pinned:3,4t -kdevice_buffer_create:4 -kbuilder_fail:3 \
    -kset_report_error:2,5t
pass -j -kerror_set:5 --flag=error_set:5:c-format -kerror_set_errno:4

# The networks' titles stand in their files; strings are written there as in C.
(cd "$source" && sed -n 's/^  "title": \(".*"\),$/N_(\1)/p' networks/*.json) |
    ${XGETTEXT:-xgettext} --language=C --from-code=UTF-8 --no-wrap -j -k -kN_ -o "$pot" -

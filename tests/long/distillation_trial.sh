#!/bin/sh
# What a teacher is worth: trains a teacher, a student alone and the same student beside the teacher, with
# several seeds, and prints both tables (alone and taught) of tinca compare.
#
#     TINCA=./tinca tests/long/distillation_trial.sh [--teacher NET] [--student NET] [--train SPEC] [--test SPEC]
#         [--device NAME] [--teacher-epochs N] [--epochs N] [--seeds N] [--temperature T] [--weight W] [--out DIR]
#
# The runs lie in DIR/state (XDG_STATE_HOME). A trial that was interrupted goes on with what is missing.
TINCA=${TINCA:-./tinca}
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
teacher=resnet56 student=resnet20-shift device=cpu teacher_epochs=30 epochs=30 seeds=3 temperature=4 weight=0.9
data=${TINCA_DATA:-../shared/data}/cifar10
train=cifar10:$data,split=train test=cifar10:$data,split=test out=distillation
while [ $# -gt 0 ]; do
    case $1 in
    --teacher | --student | --train | --test | --device | --epochs | --seeds | --temperature | --weight | --out)
        eval "${1#--}=\$2" ;;
    --teacher-epochs) teacher_epochs=$2 ;;
    *)
        sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
        exit 2
        ;;
    esac
    shift 2 || exit 2
done
mkdir -p "$out" || exit 1
out=$(cd "$out" && pwd)
export XDG_STATE_HOME="$out/state"
usual="--batch 128 --lr 0.1 --schedule cosine --augment crop=4,flip --weight-decay 0.0001 --device $device"

# train NET NAME EPOCHS OPTION...: trains, or resumes what was interrupted
train() {
    net=$1 name=$2 length=$3
    shift 3
    known=$("$TINCA" runs | grep -E "^$name@seeds |^[^ ]+ +$name ")
    if [ -z "$known" ]; then
        # shellcheck disable=SC2086 # a list of options
        "$TINCA" train "$net" --data "$train" --validate "$test" --epochs "$length" --name "$name" $usual "$@" || exit
    elif ! echo "$known" | grep -Eq " ([0-9]+) of \1 done | $name +done "; then
        case $known in
        "$name@seeds"*) "$TINCA" resume "$name@seeds" || exit ;;
        *) "$TINCA" resume "$name" || exit ;;
        esac
    fi
}

[ -e "$out/teacher.safetensors" ] || train "$teacher" teacher "$teacher_epochs" --save "$out/teacher.safetensors"
train "$student" alone "$epochs" --seeds "$seeds"
train "$student" taught "$epochs" --seeds "$seeds" --teacher "$out/teacher.safetensors" \
    --temperature "$temperature" --distill-weight "$weight"
echo "Teacher, $teacher_epochs epochs:"
"$TINCA" compare teacher
echo
echo "Student, $epochs epochs, $seeds seeds, alone and taught (T = $temperature, W = $weight):"
"$TINCA" compare alone@seeds taught@seeds

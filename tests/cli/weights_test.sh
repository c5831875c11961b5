#!/bin/sh
# tinca weights: what it shows, renames and compares; and a training that begins with PyTorch's names.
# The logits of such state dicts are compared with PyTorch's by weights_names_test.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
cd "$T" || exit 99
set -f
job="--data shapes,limit=20 --batch 10 --threads 2 -q"

# shellcheck disable=SC2086 # a list of options
"$TINCA" train resnet20 $job --iterations 0 --save own.safetensors >log 2>&1

# --- the arrays ---
succeeds "the arrays" weights own.safetensors
grep -q '^stem.conv.weight *16x3x3x3 *F32 ' out && ok "  with shapes and types" ||
    not_ok "  with shapes and types" "$(cat out)"
grep -q '^stem.bn.weight *16 *F32 *1 *0 *1 *1$' out && ok "  mean, deviation, least and largest value" ||
    not_ok "  mean, deviation, least and largest value" "$(cat out)"
succeeds "as JSON" weights own.safetensors --json
is "  names" arrays.0.name stem.conv.weight out
is "  shapes" arrays.0.shape.1 3 out
is "  and values" arrays.1.max 1 out

# --- other names ---
# the names of PyTorch's ResNets for CIFAR
succeeds "renames" weights own.safetensors --save torch.safetensors --rename 'stem.conv.*=conv1.*' \
    --rename 'stem.bn.*=bn1.*' --rename 'stage*.conv_shortcut.*=layer*.shortcut.0.*' \
    --rename 'stage*.bn_shortcut.*=layer*.shortcut.1.*' --rename 'stage*=layer*' --rename 'fc.*=linear.*'
succeeds "the new names" weights torch.safetensors
grep -q '^layer2.0.shortcut.1.running_var ' out && ! grep -q stage out && ok "  are in the file" ||
    not_ok "  are in the file" "$(cat out)"
succeeds "back again" weights torch.safetensors --save back.safetensors --rename 'conv1.*=stem.conv.*' \
    --rename 'bn1.*=stem.bn.*' --rename 'layer*.shortcut.0.*=stage*.conv_shortcut.*' \
    --rename 'layer*.shortcut.1.*=stage*.bn_shortcut.*' --rename 'layer*=stage*' --rename 'linear.*=fc.*'
cmp -s own.safetensors back.safetensors && ok "  the same bytes" || not_ok "  the same bytes"
refuses 1 'no array has this name' "a name that is not there" weights own.safetensors --rename x=y
refuses 1 'two arrays' "a name twice" weights own.safetensors --rename fc.weight=fc.bias
refuses 2 'no pair' "half a pair" weights own.safetensors --rename fc.weight
refuses 2 'no pair' "a star that stands for nothing" weights own.safetensors --rename 'fc=*'
refuses 1 'nothing.safetensors' "a file that is not there" weights nothing.safetensors

# --- beside a network ---
succeeds "every array fits" weights torch.safetensors --network resnet20
grep -q '^stage1.0.conv1.weight .*layer1.0.conv1.weight .*fits' out && grep -q 'mapping cifar-resnet' out &&
    ok "  by the mapping that is recognised" || not_ok "  by the mapping that is recognised" "$(cat out)"
run weights torch.safetensors --network resnet20 --classes 20 --json
is "another shape is named" arrays.110.state 'another shape' out
run weights torch.safetensors --network resnet56
[ "$status" -eq 1 ] && grep -q '^stage1.8.bn2.bias .* missing' out && ok "a longer network misses arrays" ||
    not_ok "a longer network misses arrays" "$status $(cat out err)"
run weights own.safetensors --network lenet
[ "$status" -eq 1 ] && grep -q '^  stem.conv.weight$' out && ok "what has no place is listed" ||
    not_ok "what has no place is listed" "$(cat out)"
refuses 2 'rename first' "both at once" weights own.safetensors --network resnet20 --rename a=b
refuses 2 'network, too' "a mapping without a network" weights own.safetensors --names cifar-resnet

# --- training ---
# shellcheck disable=SC2086
{
    "$TINCA" train resnet20 $job --iterations 3 --weights own.safetensors --save one.safetensors >log 2>&1
    run train resnet20 --data shapes,limit=20 --batch 10 --threads 2 --iterations 3 --weights torch.safetensors \
        --save two.safetensors
    [ "$status" -eq 0 ] && cmp -s one.safetensors two.safetensors && ok "a training begins with PyTorch's names" ||
        not_ok "a training begins with PyTorch's names" "$(cat log err)"
    grep -q 'mapping cifar-resnet' err && ok "  and says by which mapping" || not_ok "  and says so" "$(cat err)"
    printf '{"names": [["conv1.*", "stem.conv.*"], ["bn1.*", "stem.bn.*"], ["layer*", "stage*"],
        ["linear.*", "fc.*"]]}' >mine.json
    refuses 1 'conv_shortcut' "a mapping of one's own that forgets some" train resnet20 $job --iterations 1 \
        --weights torch.safetensors --names mine.json
    printf '{"names": [["conv1.*", "stem.conv.*"], ["bn1.*", "stem.bn.*"], ["layer*.shortcut.0.*", "stage*.conv_shortcut.*"],
        ["layer*.shortcut.1.*", "stage*.bn_shortcut.*"], ["layer*", "stage*"], ["linear.*", "fc.*"]]}' >mine.json
    succeeds "a whole mapping of one's own" train resnet20 $job --iterations 3 --weights torch.safetensors \
        --names mine.json --save three.safetensors --export mine.session.json
    cmp -s one.safetensors three.safetensors && ok "  gives the same bits" || not_ok "  gives the same bits"
    is "  and its path is recorded" runs.0.config.names "$PWD/mine.json" mine.session.json
    refuses 1 'no mapping' "a mapping that is not there" train resnet20 $job --iterations 1 \
        --weights torch.safetensors --names torch
    refuses 2 'weights a file' "a mapping without weights" train resnet20 $job --iterations 1 --names cifar-resnet
}
done_testing

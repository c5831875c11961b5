#!/bin/sh
# A paper's workflow on MNIST: train, fine-tune on ten pictures with five seeds, and recompute every interval, test
# and matrix with SciPy and scikit-learn (TINCA_PYTHON; python3 if unset): `make check-long`.
srcdir=$(cd "${srcdir:-.}" && pwd)
. "$srcdir/tests/cli/tap.sh"
mnist=${TINCA_DATA:-$srcdir/../shared/data}/mnist
python=${TINCA_PYTHON:-python3}
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
if [ ! -d "$mnist" ] || ! "$python" -c 'import scipy, sklearn' 2>/dev/null; then
    skip "the statistics of a study against SciPy" "there is no $mnist, or $python lacks scipy or scikit-learn"
    done_testing
fi
mnist=$(cd "$mnist" && pwd)
cd "$T" || exit 99
succeeds "LeNet on MNIST" train lenet --data "idx:$mnist,limit=6000" --validate "idx:$mnist,split=test" --epochs 2 \
    --save mnist.safetensors -q
succeeds "its errors" eval mnist.safetensors --data "idx:$mnist,split=test" --confusion --per-class \
    --predictions predictions.csv --wrong wrong --json
cp "$T/out" eval.json

for digit in 4 9; do # five pictures of each, as a folder for each class, and others to validate
    mkdir -p "pictures/$digit" "others/$digit"
    ls wrong/*_${digit}_as_*.png >list
    head -n 5 list | while read -r picture; do cp "$picture" "pictures/$digit"; done
    tail -n +6 list | while read -r picture; do cp "$picture" "others/$digit"; done
done
succeeds "ten pictures" datasets folder:pictures
tune() { # tune NAME OPTION...
    name=$1
    shift
    succeeds "$name: five seeds" train lenet --data folder:pictures --validate folder:others \
        --epochs 8 --batch 5 --seeds 5 --name "$name" -q "$@"
}
tune fine --weights mnist.safetensors --reset ip2 --freeze 'conv*'
tune scratch
succeeds "the session file" export fine@seeds scratch@seeds -o study.json
succeeds "the comparison" compare fine@seeds scratch@seeds --json
cp "$T/out" compare.json
if "$python" "$srcdir/tests/long/research_check.py" study.json compare.json eval.json predictions.csv >checks 2>&1; then
    grep -q '^not ok' checks && not_ok "SciPy and scikit-learn agree" "$(cat checks)" || ok "SciPy and scikit-learn agree"
else
    not_ok "SciPy and scikit-learn agree" "$(cat checks)"
fi
done_testing

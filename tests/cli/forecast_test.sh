#!/bin/sh
# Compares the memory forecast with the measured peak of the process, and checks that limits on memory are
# respected.
#
# WHOLE=1: every network of the studies with batches 1 to 512 (make check-long). Cases that need more than
# MOST_MIB (default: three quarters of the free memory), or that the program refuses here, are skipped and
# counted.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
MAKE_PICTURE=${MAKE_PICTURE:-$(dirname "$TINCA")/make_picture}
most_wrong=5 # percent
if ldd "$TINCA" | grep -Eq 'lib(asan|tsan|ubsan)'; then
    echo "1..0 # SKIP a sanitizer's own memory is not forecast"
    exit 0
fi
free=$(awk '/^MemAvailable:/ { print int($2 / 1024 * 3 / 4) }' /proc/meminfo)
most=${MOST_MIB:-$free}
: >"$T/table"

# needs NET BATCH: prints the MiB of the training plan
needs() { "$TINCA" info "$1" --batch "$2" --threads 1 --json 2>/dev/null >"$T/info" &&
    echo $(($("$JSON_LOOK" "$T/info" memory.total | cut -d. -f1) >> 20)); }

# measure ITERATIONS NET DATA BATCH [OPTION...]: computes a run and the error of its forecast
measure() {
    iterations=$1 net=$2 data=$3 batch=$4
    shift 4
    options=$(echo "$*" | sed "s#[a-z0-9]*:[^ ]*/##g")
    what="${net##*/}, ${data##*/}, batch $batch${options:+, $options}"
    if [ "$(needs "$net" "$batch")" -gt "$most" ]; then
        left_out=$((left_out + 1))
        return
    fi
    rm -rf "$T/run"
    run train "$net" --data "$data" --batch "$batch" --iterations "$iterations" --threads 1 \
        --lr 1e-6 --run-dir "$T/run" -q "$@"
    if [ "$status" != 0 ]; then
        not_ok "$what" "exit $status: $(told)"
        return
    fi
    journal_lines "$T/run/journal" | head -n 1 >"$T/start.json"
    "$JSON_LOOK" "$T/start.json" memory_peak >"$T/forecast"
    "$JSON_LOOK" "$T/run/summary.json" memory_highest >"$T/measured"
    figures=$(paste "$T/measured" "$T/forecast" | awk '{
        printf "%.1f MiB measured, %.1f forecast: %+.2f %%", $1 / 1048576, $2 / 1048576,
            100 * ($2 / $1 - 1) }')
    echo "$what: $figures" >>"$T/table"
    # How many pages of the shared libraries are resident depends on what else runs here, and the forecast counts
    # the kernels of all instruction sets, of which only one set is loaded.
    if paste "$T/measured" "$T/forecast" | awk -v most=$most_wrong '{
        wrong = $2 > $1 ? $2 - $1 : $1 - $2; exit !(wrong < 1.5 * 1048576 || wrong / $1 * 100 < most) }'; then
        ok "$what: $figures"
    else
        not_ok "$what" "$figures"
    fi
}

left_out=0
small() { # small BATCH...: fast networks; the data loader's ring is full after a few iterations
    for batch; do
        measure 6 mlp digits,limit=1024 "$batch"
        measure 4 lenet digits,limit=1024 "$batch"
    done
}
if whole_list; then
    small 1 2 4 8 16 32 64 128 256 512
    for batch in 1 2 4 8 16 32 64 128 256 512; do
        for net in squeezenet resnet20 resnet56 resnet110; do
            measure 2 $net shapes,limit=1024 $batch
        done
        measure 1 alexnet tench $batch
        measure 1 googlenet tench $batch
    done
    for technique in dsc shuffle shift; do
        for net in squeezenet resnet20 resnet56 resnet110; do
            measure 2 $net shapes,limit=1024 128 --technique $technique
        done
        measure 1 pix2pix maps,limit=8 1 --technique $technique
    done
    for batch in 1 2 4; do
        measure 1 pix2pix maps,limit=8 $batch
    done
    for net in vgg19 mobilenet; do
        measure 2 $net shapes,limit=256 64
    done
    measure 2 resnet20 shapes,limit=1024 128 --threads 2
else
    small 1 16 512
    measure 2 squeezenet shapes,limit=64 1
    measure 2 resnet20 shapes,limit=64 16
    measure 1 googlenet tench 1
fi
measure 2 lenet digits,limit=64 16 --validate digits,limit=200

# --- every kind of data set ---
# Pictures of 1200 x 800 pixels and small networks: decoding dominates the memory.
"$TINCA" train mlp --data digits,limit=64 --batch 32 --iterations 2 --threads 1 -q --run-dir "$T/drawn"
mkdir -p "$T/folder/a" "$T/folder/b" "$T/pairs"
for place in folder/a folder/b pairs; do
    "$TINCA" export "$T/drawn" --format png --size 1200x800 -o "$T/$place/1.png"
    cp "$T/$place/1.png" "$T/$place/2.png"
    cp "$T/$place/1.png" "$T/$place/3.png"
done
picture_network "$T/tiny.json" 64 16 64 4
measure 4 mlp "folder:$T/folder" 2
measure 4 squeezenet "folder:$T/folder" 2
measure 4 "$T/tiny.json" "pairs:$T/pairs" 1
measure 2 squeezenet tench,limit=16 2
# a validation set smaller than the largest batch
mkdir -p "$T/few/a" "$T/few/b"
cp "$T/folder/a/1.png" "$T/few/a"
cp "$T/folder/b/1.png" "$T/few/b"
measure 4 mlp "folder:$T/folder" 2 --validate "folder:$T/few"
if whole_list; then measure 4 squeezenet "folder:$T/folder" 2 --validate "folder:$T/few"; fi
# pairs with a tiny network, with and without validation
picture_network "$T/tinier.json" 32 8 16 3
measure 4 "$T/tinier.json" "pairs:$T/pairs" 1
measure 4 "$T/tinier.json" maps,limit=8 2
measure 4 "$T/tinier.json" "pairs:$T/pairs" 1 --validate "pairs:$T/pairs"
measure 4 "$T/tiny.json" "pairs:$T/pairs" 1 --validate "pairs:$T/pairs"
measure 4 "$T/tiny.json" maps,limit=8 1 --validate maps,limit=4
# data of the whole file in a decoder: coefficients of a JPEG, rows of a PNG
for kind in progressive.jpg interlaced.png; do
    place=$T/${kind%.*}
    mkdir -p "$place/a" "$place/b" "$place-pairs"
    "$MAKE_PICTURE" "${kind%.*}" 1200 800 "$T/$kind"
    for to in "$place/a" "$place/b" "$place-pairs"; do
        cp "$T/$kind" "$to/1.${kind#*.}"
        cp "$T/$kind" "$to/2.${kind#*.}"
    done
    measure 4 mlp "folder:$place" 2
    if whole_list; then
        measure 4 squeezenet "folder:$place" 2 --validate "folder:$place"
        measure 4 "$T/tiny.json" "pairs:$place-pairs" 1
    fi
    measure 4 "$T/tiny.json" "pairs:$place-pairs" 1 --validate "pairs:$place-pairs"
done

# The published sets, whose IDX and CIFAR files are compressed.
sets=${TINCA_DATA:-$srcdir/../shared/data}
if [ -d "$sets" ]; then
    measure 4 lenet "idx:$sets/mnist" 32
    measure 4 lenet "idx:$sets/mnist" 32 --validate "idx:$sets/mnist"
    measure 4 mlp "idx:$sets/mnist" 1
    measure 4 resnet20 "cifar10:$sets/cifar10" 1
    measure 4 squeezenet "folder:$sets/tench" 2
    measure 4 mlp "folder:$sets/tench" 2
    measure 4 "$T/tinier.json" "pairs:$sets/maps,limit=20" 1 \
        --validate "pairs:$sets/maps,limit=20"
    measure 1 pix2pix "pairs:$sets/maps,limit=8" 1
else
    skip "MNIST, CIFAR-10, tench and maps" "TINCA_DATA names no folder"
fi
measure 2 resnet20 shapes,limit=64 16 --validate shapes,limit=100 --memory-limit 20M

awk -F'[:%]' -v left_out=$left_out '
    { wrong = $(NF - 1) + 0; if (wrong < 0) wrong = -wrong; all[NR] = wrong }
    END {
        for (i = 1; i <= NR; i++)
            for (j = i + 1; j <= NR; j++)
                if (all[j] < all[i]) { t = all[i]; all[i] = all[j]; all[j] = t }
        printf "# forecast: %d cases, median error %.2f %%, worst %.2f %%, %d left out\n", NR,
            all[int((NR + 1) / 2)], all[NR], left_out
    }' "$T/table"

# --- a limit on addresses: the refusal names a batch, which then runs ---
limited() { # limited KIB ARGUMENT...
    limit=$1
    shift
    status=0
    # shellcheck disable=SC3045 # dash, bash and ksh have -v
    (ulimit -v "$limit" && exec "$TINCA" "$@") >"$T/out" 2>"$T/err" </dev/null || status=$?
}
promise() { # promise KIB NET DATA BATCH: the refusal names the largest batch that runs
    kib=$1 net=$2 data=$3
    limited "$kib" train "$net" --data "$data" --batch "$4" --iterations 1 --threads 1 -q
    batch=$(sed -n 's/.*batch \([0-9]*\) would fit.*/\1/p' "$T/err")
    if [ "$status" = 1 ] && [ "$batch" ]; then
        ok "ulimit -v $kib: $net with batch $4 is refused, $batch would fit"
    else
        not_ok "ulimit -v $kib: $net with batch $4 is refused" "exit $status: $(told)"
        return
    fi
    limited "$kib" train "$net" --data "$data" --batch "$batch" --iterations 2 --threads 1 --lr 1e-6 -q
    if [ "$status" = 0 ]; then ok "  this batch runs"; else not_ok "  this batch runs" "exit $status: $(told)"; fi
    limited "$kib" train "$net" --data "$data" --batch $((batch + batch / 10 + 1)) --iterations 1 \
        --threads 1 -q
    if [ "$status" = 1 ]; then ok "  a batch larger by a tenth is refused"; else
        not_ok "  a batch larger by a tenth is refused" "exit $status: $(told)"
    fi
}
if (ulimit -v 3000000) 2>/dev/null; then # shellcheck disable=SC3045
    promise 450000 lenet digits 10000
    promise 450000 resnet20 shapes,limit=1024 1024
    limited 3000000 train googlenet --data tench --batch 512 --iterations 1 --threads 1
    if [ "$status" = 1 ] && grep -q 'batch [0-9]* would fit' "$T/err"; then
        ok "GoogLeNet with batch 512 does not fit 3 GB"
    else
        not_ok "GoogLeNet with batch 512 does not fit 3 GB" "exit $status: $(told)"
    fi
    for threads in 1 2; do
        kib=500000
        # OpenBLAS 0.3.29 maps 128 MiB more when it is loaded; the previous run recorded its version
        blas=$(journal_lines "$XDG_STATE_HOME"/tinca/runs/*/journal | sed -n 's/.*"OpenBLAS \([0-9.]*\).*/\1/p' | head -n 1)
        newer=$(printf '%s\n' "$blas" 0.3.29 | sort -V | tail -n 1)
        if [ "$threads" = 2 ] && [ "$blas" = "$newer" ]; then kib=650000; fi
        limited $kib train lenet --data digits,limit=128 --batch 64 --epochs 1 --threads $threads -q
        if [ "$status" = 0 ]; then ok "LeNet fits $kib KiB with $threads threads"; else
            not_ok "LeNet fits $kib KiB with $threads threads" "exit $status: $(told)"
        fi
        # under every limit the program runs or refuses; it never crashes or hangs
        for kib in 60000 100000 150000 200000 225000 250000 300000 350000 400000; do
            status=0
            # shellcheck disable=SC3045
            (ulimit -v $kib && exec timeout 60 "$TINCA" train lenet --data digits,limit=128 \
                --batch 64 --epochs 1 --threads $threads -q) >"$T/out" 2>"$T/err" </dev/null ||
                status=$?
            if [ "$status" = 0 ] || { [ "$status" = 1 ] && grep -q '^tinca: ' "$T/err"; }; then
                ok "ulimit -v $kib, $threads threads: a run, or a message"
            else
                not_ok "ulimit -v $kib, $threads threads: a run, or a message" \
                    "exit $status: $(told)"
            fi
        done
    done
    limited 200000 train lenet --data digits --batch 1 --iterations 1 --threads 1 -q
    if [ "$status" = 1 ] && grep -q 'not even one image fits' "$T/err"; then
        ok "a limit under which nothing fits is reported"
    else
        not_ok "a limit under which nothing fits is reported" "exit $status: $(told)"
    fi
else
    skip "limits on addresses" "this shell cannot set one"
fi

# --- a sweep's forecast is that of its runs ---

# The process that forecasts has not yet what the run's has, such as threads: 1 MiB, and the kernels that it will load.
run sweep --networks mlp,lenet --data digits --batches 64 --iterations 2 --threads 1 --json -q
for cell in 0 1; do
    forecast=$("$JSON_LOOK" "$T/out" cells.$cell.memory_forecast_bytes)
    peak=$(journal_lines "$XDG_STATE_HOME/tinca/runs/$("$JSON_LOOK" "$T/out" cells.$cell.run)/journal" |
        head -n 1 >"$T/start.json" && "$JSON_LOOK" "$T/start.json" memory_peak)
    if awk -v a="$forecast" -v b="$peak" 'BEGIN { wrong = a > b ? a - b : b - a; exit !(wrong < 1.5 * 1048576) }'; then
        ok "cell $cell of a sweep: $forecast bytes are forecast, and $peak by its run"
    else
        not_ok "cell $cell of a sweep: $forecast bytes are forecast, and $peak by its run"
    fi
done
done_testing

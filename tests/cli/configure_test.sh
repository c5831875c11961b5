#!/bin/sh
# configure leaves the CUDA device out where the toolkit is older than 12, and says why; --with-cuda fails there.
# --with-cuda-arch=native is for the GPUs that nvidia-smi names, and leaves the device out where there are none.
# The checks of this build are reused, and nothing is created.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
source_folder=$(cd "$srcdir" && pwd -P)
if [ ! -f "$source_folder/configure" ] || [ ! -f config.log ] || [ ! -f config.status ]; then
    skip "configure and an old toolkit" "configure did not make this build"
    done_testing
fi
if [ -f "$source_folder/config.status" ]; then
    skip "configure and an old toolkit" "the build is in the source folder, which configure then refuses elsewhere"
    done_testing
fi
sed -n '/^## Cache variables/,/^## Output variables/p' config.log | grep '^[a-z_]*_cv_' |
    grep -v '^ac_cv_env_\|NVCC' >"$T/cache"
options=$(./config.status --config)
eval "set -- $options"
cd "$T" || exit 99
mkdir bin
cat >bin/nvcc <<'NVCC'
#!/bin/sh
echo "Cuda compilation tools, release 11.8, V11.8.89"
NVCC
chmod +x bin/nvcc
PATH="$T/bin:$PATH"

# configure with the options of this build, but those for CUDA and silence, and OPTION...
configure_with() {
    added=$1
    shift
    for option; do
        shift
        case $option in
        -q | --quiet | --silent | --without-cuda | --with-cuda | --with-cuda=* | --with-cuda-arch=* | NVCC=*) ;;
        *) set -- "$@" "$option" ;;
        esac
    done
    status=0
    sh "$source_folder/configure" --no-create --cache-file=cache "$@" "$added" >out 2>&1 || status=$?
}

configure_with --with-cuda=auto "$@"
if [ "$status" = 0 ] && grep -q 'CUDA  *no device: .*nvcc is of CUDA 11\.8, and CUDA 12 or later is needed' out; then
    ok "a toolkit before CUDA 12 is left out, and the summary says why"
else
    not_ok "a toolkit before CUDA 12 is left out, and the summary says why" "$(tail -n 30 out)"
fi
configure_with --with-cuda "$@"
if [ "$status" != 0 ] && grep -q 'with-cuda was given, but .* is of CUDA 11\.8, and CUDA 12 or later is needed' out; then
    ok "--with-cuda fails for the same reason"
else
    not_ok "--with-cuda fails for the same reason" "status $status: $(tail -n 30 out)"
fi

# gpus NAME PATTERN CAPABILITY...: the summary for a machine with such GPUs, and a toolkit that knows two kinds
gpus() {
    name=$1 pattern=$2
    shift 2
    cat >bin/nvcc <<'NVCC'
#!/bin/sh
case $* in
*--version*) echo "Cuda compilation tools, release 12.4, V12.4.1" ;;
*--list-gpu-code*) printf 'sm_75\nsm_90\n' ;;
esac
NVCC
    { echo '#!/bin/sh'; [ $# = 0 ] && echo 'exit 9'; for gpu; do echo "echo $gpu"; done; } >bin/nvidia-smi
    chmod +x bin/nvidia-smi
    eval "set -- $options"
    configure_with --with-cuda-arch=native "$@"
    if [ "$status" = 0 ] && grep -q "CUDA  *$pattern" out; then ok "$name"; else
        not_ok "$name" "status $status: $(tail -n 30 out)"
    fi
}
gpus "native: the GPUs of this machine, each kind once" 'device built with toolkit 12\.4 for sm_90\(,\|$\)' 9.0 9.0
gpus "  of two kinds" 'device built with toolkit 12\.4 for sm_75 sm_90' 9.0 7.5
gpus "  a newer one than the toolkit knows: all kinds" 'device built with toolkit 12\.4 for sm_75 sm_90' 12.0
gpus "  no GPU: no device" 'no device: no NVIDIA GPU was found when it was configured'
done_testing

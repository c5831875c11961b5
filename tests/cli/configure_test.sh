#!/bin/sh
# configure leaves the CUDA device out where the toolkit is older than 12, and says why; --with-cuda fails there.
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
eval "set -- $(./config.status --config)"
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
        -q | --quiet | --silent | --without-cuda | --with-cuda | --with-cuda=* | NVCC=*) ;;
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
done_testing

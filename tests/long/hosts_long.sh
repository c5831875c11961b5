#!/bin/sh
# Several hosts on one machine: network namespaces with names and addresses of their own, joined by a bridge, whose
# links tc limits to a rate. Open MPI starts its daemons in them by an agent in the place of ssh. Training on two and
# three hosts gives the bits of one process, also at 100 Mbit/s and with the delay and losses of a relay (link_relay.c);
# three hosts share a sweep; a host whose link is cut ends all ranks, and the run resumes to the same bits. Prints
# what bench --cluster measures and predicts in each of these networks. Needs root.
srcdir=$(cd "${srcdir:-.}" && pwd)
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/cli/mpi.sh"
for program in ip tc unshare; do
    command -v $program >/dev/null && continue
    skip "several hosts" "there is no $program"
    done_testing
done
need_mpi "several hosts"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
cd "$T" || exit 99

id=$$
bridge=tb$id
remove_hosts() {
    for host in 1 2 3; do ip netns del "tinca$id-$host" 2>/dev/null; done
    ip link del $bridge 2>/dev/null
}
trap 'remove_hosts; end_processes; rm -rf "$T"' EXIT
make_hosts() {
    ip link add $bridge type bridge && ip link set $bridge up || return 1
    for host in 1 2 3; do
        space=tinca$id-$host
        ip netns add $space && ip link add tv$id-$host type veth peer name tp$host netns $space || return 1
        ip link set tv$id-$host master $bridge up
        ip -n $space link set lo up
        ip -n $space address add 10.77.0.$host/24 dev tp$host
        ip -n $space link set tp$host up
        tc -n $space qdisc add dev tp$host root tbf rate 1gbit burst 1mb latency 50ms || return 1
    done
}
if [ "$(id -u)" != 0 ] || ! make_hosts 2>err; then
    skip "several hosts" "network namespaces with tbf need root and the kernel's support: $(cat err 2>/dev/null)"
    done_testing
fi

# in_host N COMMAND...: runs a command on a host, under the host's name
cat >in_host <<END
#!/bin/sh
host=\$1
shift
export TINCA_HOST=\$host
exec ip netns exec tinca$id-\$host unshare --uts sh -c 'hostname host\$TINCA_HOST; exec "\$@"' sh "\$@"
END
# Open MPI calls its agent as ssh: a host, and a command for that host's shell
cat >agent <<END
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
host=\${1#host}
shift
exec "$T/in_host" \$host sh -c "\$*"
END
chmod +x in_host agent

# hosts N ARGUMENT...: runs the program in N processes, each on a host
hosts() {
    ranks=$1
    shift
    list=host1:1
    for host in 2 3; do [ $host -gt "$ranks" ] || list=$list,host$host:1; done
    status=0
    timeout "${LIMIT_S:-120}" ./in_host 1 mpirun --mca plm_rsh_agent "$T/agent" --mca plm_rsh_no_tree_spawn 1 \
        --mca btl self,tcp --mca btl_tcp_if_include ${network_of_data:-10.77.0.0/24} --mca oob_tcp_if_include 10.77.0.0/24 \
        --host $list -n "$ranks" "$TINCA" "$@" >out 2>err </dev/null || status=$?
}
# rate SPEED: limits what each host sends
rate() {
    for host in 1 2 3; do
        tc -n tinca$id-$host qdisc change dev tp$host root tbf rate "$1" burst 256kb latency 50ms
    done
}

hosts 3 devices --json
for host in 1 2 3; do
    grep -q "\"host\".*host$host" out && ok "host$host has a rank" || not_ok "host$host has a rank" "$status: $(told)"
done

# same NAME FOLDER FOLDER
same() {
    if [ "$status" = 0 ] && cmp -s "$2/weights.safetensors" "$3/weights.safetensors"; then
        ok "$1"
    else
        not_ok "$1" "exit $status: $(told)"
    fi
}
regular_network regular.json
for job in "lenet --data digits,limit=96 --batch 12" "./regular.json --data digits,limit=96 --batch 12" "resnet20 --data shapes,limit=48 --batch 12" \
    "squeezenet --technique shift --data shapes,limit=24 --batch 12"; do
    for blocks in 2 3; do
        network=$(basename "${job%% *}" .json)-$blocks
        # shellcheck disable=SC2086 # a list of options
        run train $job --iterations 4 --blocks $blocks --threads 1 -q --run-dir "$network-1"
        # shellcheck disable=SC2086
        hosts $blocks train $job --iterations 4 --threads 1 -q --run-dir "$network-n"
        same "${network%-*} on $blocks hosts: the bits of one process" "$network-1" "$network-n"
    done
done

for speed in 1gbit 100mbit; do
    rate $speed
    for ranks in 2 3; do
        hosts $ranks bench lenet --cluster --batch 96 --threads 1 --iterations 10
        [ "$status" = 0 ] && ok "bench --cluster on $ranks hosts at $speed" ||
            not_ok "bench --cluster on $ranks hosts at $speed" "$status: $(told)"
        sed -n 's/^  \(parameters\|predicted\|measured\)/# &/p' out
    done
done
for ranks in 2 3; do
    hosts $ranks train lenet --data digits,limit=96 --batch 12 --iterations 4 --threads 1 -q --run-dir slow-$ranks
    same "the same bits on $ranks hosts at 100 Mbit/s" lenet-$ranks-1 slow-$ranks
done
rate 1gbit

# --- a sweep ---
grid="--networks mlp,lenet --batches 4,8,16 --data digits,limit=400 --iterations 100 --threads 1 --name shared"
runs() { find "$T/$1/tinca/runs" -name config.json | wc -l; }
# shellcheck disable=SC2086 # a list of options
{
    export XDG_STATE_HOME="$T/plain"
    run sweep $grid -q
    [ "$status" = 0 ] && [ "$(runs plain)" = 6 ] && ok "a plain sweep" || not_ok "a plain sweep" "$status: $(told)"
    export XDG_STATE_HOME="$T/over"
    hosts 3 sweep $grid --over mpi
}
[ "$status" = 0 ] && ok "a sweep over three hosts" || not_ok "a sweep over three hosts" "$status: $(told)"
lines=$(grep -c 'done, .*(rank [0-2] on host[1-3]' err)
[ "$lines,$(runs over)" = 6,6 ] && ok "  one line and one run for each cell" ||
    not_ok "  one line and one run for each cell" "$lines lines, $(runs over) runs: $(cat err)"
computing=$(sed -n 's/.*done, .*(rank [0-2] on \(host[1-3]\).*/\1/p' err | sort -u | wc -l)
[ "$computing" -ge 2 ] && ok "  computed by several hosts" || not_ok "  computed by several hosts" "$(cat err)"
found=$(differing plain over shared)
[ -z "$found" ] && ok "  the weights of the plain sweep" || not_ok "  the weights of the plain sweep" "$found"

# --- delay and losses ---
if "${CC:-cc}" -O2 -D_GNU_SOURCE -o relay "$srcdir/tests/long/link_relay.c" 2>err; then
    network_of_data=10.78.0.0/24
    for delay_loss in 50:0 500:0 5000:0 500:2000; do
        ./relay "${delay_loss%:*}" "${delay_loss#*:}" tinca$id-1 tinca$id-2 tinca$id-3 >ready 2>err &
        relay=$!
        wait_until has_line ready ready
        for host in 1 2 3; do
            ip -n tinca$id-$host address add 10.78.0.$host/24 dev relay
            ip -n tinca$id-$host link set relay up
        done
        name="a delay of ${delay_loss%:*} us and ${delay_loss#*:} of a million packets lost"
        for ranks in 2 3; do
            hosts $ranks bench resnet20 --cluster --batch 48 --threads 1 --iterations 5
            [ "$status" = 0 ] && ok "bench --cluster on $ranks hosts, $name" ||
                not_ok "bench --cluster on $ranks hosts, $name" "$status: $(told)"
            sed -n 's/^  \(parameters\|predicted\|measured\)/# &/p' out
        done
        for ranks in 2 3; do
            rm -rf far
            hosts $ranks train resnet20 --data shapes,limit=48 --batch 12 --iterations 4 --threads 1 -q --run-dir far
            same "  the same bits on $ranks hosts" resnet20-$ranks-1 far
        done
        kill $relay
        wait $relay 2>/dev/null
    done
    network_of_data=
else
    skip "delay and losses" "the relay does not compile: $(cat err)"
fi

# --- a link is cut ---
run train lenet --data digits --batch 32 --iterations 600 --blocks 2 --threads 1 -q --run-dir whole
hosts 2 train lenet --data digits --batch 32 --iterations 600 --threads 1 -q --checkpoint 0.5 --run-dir "$T/cut" &
job=$!
has_checkpoint() { [ -s cut/checkpoint.safetensors ]; }
wait_until has_checkpoint
ip -n tinca$id-2 link set tp2 down
begun=$(date +%s)
# mpirun itself may wait for the daemon that it does not reach: what counts is that no rank remains
ended() { ! pgrep -f "^$TINCA train.*run-dir $T/cut" >/dev/null; }
wait_until ended
took=$(($(date +%s) - begun))
[ $took -le 30 ] && ok "a cut link ends all ranks ($took s)" || not_ok "a cut link ends all ranks" "$took s"
grep -Eq '^tinca: (rank 0 on host1: )?rank 1 on host2: it has not answered' err &&
    ok "  the reason names the rank and its host" ||
    not_ok "  the reason names the rank and its host" "$(told)"
ip -n tinca$id-2 link set tp2 up
kill $job 2>/dev/null
wait $job
hosts 2 resume "$T/cut" -q --threads 1
same "  resumed on both hosts: the bits of an undisturbed run" whole cut

# --- a GPU on each host ---
emulated=$(dirname "$TINCA")/tinca_emulated
if [ -x "$emulated" ]; then
    TINCA=$emulated
    cat >gpus.json <<'NETWORK'
{"name": "gpus", "input": [1, 28, 28], "classes": 10, "normalise": "unit",
 "layers": [{"op": "conv", "output": 6, "kernel": 3, "stride": 3}, {"op": "batch_norm"}, {"op": "relu"},
            {"op": "flatten"}, {"op": "dropout", "rate": 0.4}, {"op": "linear", "output": "classes"}]}
NETWORK
    job="./gpus.json --data digits,limit=96 --batch 12 --iterations 4 --threads 1 --seed 3 -q"
    export TINCA_EMULATED_GPUS=2
    # shellcheck disable=SC2086 # a list of options
    run train $job --device cuda:0,1 --run-dir gpus-1
    export TINCA_EMULATED_GPUS=1
    # shellcheck disable=SC2086
    hosts 2 train $job --device cuda --run-dir gpus-2
    same "two hosts with an emulated GPU each: the bits of one process with two" gpus-1 gpus-2
else
    skip "a GPU on each host" "this build has no emulated GPUs"
fi
done_testing

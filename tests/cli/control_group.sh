# Sourced by the tests that need a control group for memory.

# find_group: sets $group to a new control group for memory, and $limit to the file of its limit; fails if there is none
find_group() {
    for parent in "/sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:memory:\(.*\)$/\1/p' /proc/self/cgroup)" /sys/fs/cgroup/memory \
        "/sys/fs/cgroup$(sed -n 's/^0::\(.*\)$/\1/p' /proc/self/cgroup)" /sys/fs/cgroup; do
        group=$parent/tinca-test.$$
        mkdir "$group" 2>/dev/null || continue
        for limit in "$group/memory.limit_in_bytes" "$group/memory.max"; do
            [ -w "$limit" ] && { echo 268435456 >"$limit"; } 2>/dev/null && return 0
        done
        rmdir "$group"
    done
    return 1
}

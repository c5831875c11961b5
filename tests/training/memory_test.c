/* Free memory: limits of control groups as the kernel reports them, and how a run uses the rest. */
#include "tap.h"

#include "base/host/control_group.h"
#include "base/host/host.h"
#include "engine/devices/device.h"
#include "training/prepare/forecast.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB(n) ((uint64_t)(n) << 20)

/* --- a made-up system --- */

static char root[] = "/tmp/tinca-memory-XXXXXX";

/* Writes root/path, with the folders above it. */
static void write_file(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *slash = full + sizeof root; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(full, 0700);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    if (file) {
        fputs(text, file);
        fclose(file);
    }
}

static void empty_root(void)
{
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s' && mkdir '%s'", root, root);
    if (system(command) != 0)
        tap_ok(false, "the scratch folder can be emptied");
}

static struct control_group read_group(void)
{
    struct control_group group;
    control_group_read(root, &group);
    return group;
}

static void test_version_2(void)
{
    empty_root();
    write_file("proc/self/cgroup", "0::/user/job\n");
    write_file("proc/self/mountinfo",
               "21 1 0:20 / /proc rw - proc proc rw\n"
               "30 1 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n");
    struct control_group group = read_group();
    tap_ok(group.limit == UINT64_MAX && group.free == UINT64_MAX && group.swap == UINT64_MAX,
           "version 2 without a limit");
    write_file("sys/fs/cgroup/user/job/memory.max", "max\n");
    write_file("sys/fs/cgroup/user/job/memory.current", "4194304\n");
    write_file("sys/fs/cgroup/user/memory.max", "104857600\n");
    write_file("sys/fs/cgroup/user/memory.current", "41943040\n");
    write_file("sys/fs/cgroup/user/memory.stat", "anon 1\ninactive_file 10485760\n");
    group = read_group();
    tap_ok(group.limit == MIB(100) && group.free == MIB(70),
           "the limit of a parent group counts, and droppable pages are free");
    write_file("sys/fs/cgroup/user/job/memory.max", "16777216\n");
    write_file("sys/fs/cgroup/user/memory.swap.max", "8388608\n");
    write_file("sys/fs/cgroup/user/memory.swap.current", "1048576\n");
    group = read_group();
    tap_ok(group.limit == MIB(16) && group.free == MIB(12) && group.swap == MIB(7),
           "the narrowest counts, and its swap");
    write_file("sys/fs/cgroup/user/job/memory.current", "20971520\n");
    tap_ok(read_group().free == 0, "usage above the limit leaves 0");
    tap_ok(control_group_memory_kills(root) == 0, "without a count of kills there were none");
    write_file("sys/fs/cgroup/user/job/memory.events", "low 0\noom 4\noom_kill 3\n");
    tap_ok(control_group_memory_kills(root) == 3, "processes of the group were killed for memory");
}

static void test_version_1(void)
{
    empty_root();
    write_file("proc/self/cgroup", "5:cpu,cpuacct:/\n4:memory:/docker/c0ffee/job\n0::/\n");
    write_file("proc/self/mountinfo",
               "40 1 0:30 /docker/c0ffee /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
               "41 1 0:31 /docker/c0ffee /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
    write_file("sys/fs/cgroup/memory/memory.limit_in_bytes", "209715200\n");
    write_file("sys/fs/cgroup/memory/memory.usage_in_bytes", "104857600\n");
    write_file("sys/fs/cgroup/memory/memory.memsw.limit_in_bytes", "314572800\n");
    write_file("sys/fs/cgroup/memory/memory.memsw.usage_in_bytes", "104857600\n");
    write_file("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
    struct control_group group = read_group();
    tap_ok(group.limit == MIB(200) && group.free == MIB(100) && group.swap == MIB(100),
           "version 1 in a container: a part of the hierarchy is mounted");
    write_file("sys/fs/cgroup/memory/job/memory.oom_control", "under_oom 0\noom_kill 2\n");
    tap_ok(control_group_memory_kills(root) == 2, "kills for memory are counted here, too");
    write_file("proc/self/cgroup", "4:memory:/elsewhere\n");
    tap_ok(read_group().limit == MIB(200), "outside of the mounted part, its limit still counts");
    write_file("proc/self/cgroup", "garbage\n::\n4:memory\n");
    tap_ok(read_group().limit == UINT64_MAX, "a file that makes no sense is no limit");
}

/* --- this process --- */

/* Returns a limit that leaves this process `mib` MiB more than it has: a sanitizer takes
 * terabytes of addresses, and cannot do without more. `key`: what /proc/self/status calls it. */
static rlim_t limit_above(const char *key, rlim_t mib, rlim_t most)
{
    char line[128];
    unsigned long long kibibytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0)
            kibibytes = strtoull(line + strlen(key), NULL, 10);
    if (file)
        fclose(file);
    const rlim_t limit = (rlim_t)kibibytes * 1024 + MIB(mib);
    return limit < most ? limit : most;
}

static void test_process(void)
{
    struct available_memory before, after;
    struct rlimit old, limit;
    host_available_memory(&before);
    tap_ok(before.bound != BOUND_UNKNOWN && before.with_swap >= before.without_swap,
           "what this machine leaves is known");
    getrlimit(RLIMIT_AS, &old);
    limit = (struct rlimit){limit_above("VmSize:", 16384, old.rlim_max), old.rlim_max};
    const bool set = setrlimit(RLIMIT_AS, &limit) == 0;
    host_available_memory(&after);
    tap_ok(set && after.with_swap <= MIB(16384), "a limit on addresses counts, swap or not");
    setrlimit(RLIMIT_AS, &old);
    getrlimit(RLIMIT_DATA, &old);
    limit = (struct rlimit){limit_above("VmData:", 512, old.rlim_max), old.rlim_max};
    const bool set_data = setrlimit(RLIMIT_DATA, &limit) == 0;
    host_available_memory(&after);
    tap_ok(set_data && after.bound == BOUND_ULIMIT && after.without_swap <= MIB(512),
           "a limit on data as well");
    setrlimit(RLIMIT_DATA, &old);
    tap_ok(host_program_unloaded_bytes() < MIB(64), "what is unread of this program is part of it");
    /* mapped, because what is freed may stay with the allocator, under a sanitizer for certain */
    const size_t bytes = MIB(32);
    char *const block =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block != MAP_FAILED)
        memset(block, 1, bytes);
    const uint64_t high = host_process_peak();
    if (block != MAP_FAILED)
        munmap(block, bytes);
    host_process_reset_peak();
    tap_ok(high >= MIB(32) && host_process_peak() <= high - MIB(24), "a peak can be forgotten");
}

/* --- the limit of a run --- */

static struct network *network;

static void ask(size_t batch, uint64_t without_swap, uint64_t with_swap, struct forecast *forecast)
{
    const struct plan_settings settings = {.mode = PLAN_TRAINING, .batch = batch, .threads = 1};
    const struct available_memory room = {without_swap, with_swap, BOUND_MACHINE};
    const struct method method = method_of_network(network, settings.mode);
    const struct memory_check_request question = {
        .method = &method, .driver = &device_reference, .settings = &settings, .available = &room};
    *forecast = (struct forecast){.classes = network->classes, .input = network->input};
    method_forecast(&method, question.driver, &settings, &forecast->memory, NULL);
    memory_check(&question, forecast, NULL, NULL);
}

static void test_swap(void)
{
    struct forecast forecast, largest;
    struct error error;
    char words[320];
    ask(512, MIB(1000), MIB(1000), &forecast);
    const uint64_t needed = forecast_needed(&forecast);
    tap_ok(forecast.fits && !forecast.swaps && forecast_peak(&forecast) > needed,
           "free memory suffices: no message");
    ask(512, needed, needed, &forecast);
    tap_ok(forecast.fits && !forecast.swaps, "to the last byte");
    ask(512, needed - 1, needed, &forecast);
    tap_ok(forecast.fits && forecast.swaps && forecast.largest_batch == 511,
           "a byte less than that would swap");
    ask(512, needed / 2, needed, &forecast);
    forecast_swap_text(&forecast, 512, words, sizeof words);
    ask(forecast.largest_batch, needed / 2, needed, &largest);
    tap_ok(strstr(words, "would swap") && !largest.swaps, "the named batch does not swap: %s",
           words);
    ask(forecast.largest_batch + 1, needed / 2, needed, &largest);
    tap_ok(largest.swaps, "but the next batch does");
    ask(512, needed / 2, needed - 1, &forecast);
    tap_ok(!forecast.fits && !forecast_refuse(&forecast, 512, &error) &&
               error.kind == ERROR_MEMORY && strstr(error.advice, "would fit"),
           "a run that does not fit with swap is refused");
    ask(512, 1000, 1000, &forecast);
    tap_ok(!forecast.fits && forecast.largest_batch == 0 &&
               !forecast_refuse(&forecast, 512, &error) && strstr(error.why, "not even one"),
           "if not even one image fits, the message says so");
}

TEST_CASE(memory_test)
{
    struct error error;
    const struct network_request request = {.network = "lenet"};
    if (!mkdtemp(root))
        return 99;
    test_version_2();
    test_version_1();
    test_process();
    network = network_build(&request, &error);
    if (network)
        test_swap();
    tap_ok(network, "the network is there");
    network_free(network);
    empty_root();
    rmdir(root);
    return tap_done();
}

/* Tests the meter of the energy against a made powercap tree and a stand-in for NVIDIA's library.
 */
#include "base/host/powercap.h"
#include "models/measure/energy_meter.h"
#include "powercap_tree.h"
#include "tap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char folder[128];

static void write_file(const char *zone, const char *name, const char *text)
{
    powercap_write(folder, zone, name, text);
}

static void make_zone(const char *zone, const char *name, const char *microjoules)
{
    powercap_make_zone(folder, zone, name, microjoules);
}

static void remove_folder(void)
{
    powercap_remove(folder);
}

/* Two packages, one of which counts its memory, and zones that are not counted. */
static void make_tree(void)
{
    make_zone("intel-rapl:0", "package-0", "1000000");
    make_zone("intel-rapl:0:0", "core", "500000");
    make_zone("intel-rapl:0:1", "dram", "2000000");
    make_zone("intel-rapl:1", "package-1", "262143000000");
    make_zone("intel-rapl:2", "psys", "7000000");
    make_zone("intel-rapl-mmio:0", "package-0", "1000000");
}

static bool close_to(double a, double b)
{
    return fabs(a - b) < 1e-6 * (fabs(b) + 1);
}

static void test_powercap(void)
{
    struct powercap powercap;
    struct error error = {0};
    double joules = -1;
    make_tree();
    const bool opened = powercap_open(&powercap, folder, &error);
    tap_ok(opened && powercap.count == 3, "packages and memory are counted: %zu counters %s",
           powercap.count, error.why);
    tap_ok(powercap_read(&powercap, &joules, &error) && joules == 0, "nothing was used yet");
    write_file("intel-rapl:0", "energy_uj", "4000000");
    write_file("intel-rapl:0:0", "energy_uj", "3000000");
    write_file("intel-rapl:0:1", "energy_uj", "2500000");
    write_file("intel-rapl:2", "energy_uj", "9000000");
    bool read = powercap_read(&powercap, &joules, &error);
    tap_ok(read && close_to(joules, 3.5), "3 J in the package and 0.5 J in its memory: %g", joules);
    write_file("intel-rapl:1", "energy_uj", "671150");
    read = powercap_read(&powercap, &joules, &error);
    tap_ok(read && close_to(joules, 1.0), "a counter that starts again at its range: %g", joules);
    write_file("intel-rapl:1", "energy_uj", "");
    read = powercap_read(&powercap, &joules, &error);
    tap_ok(!read && strstr(error.what, "intel-rapl:1"),
           "a counter that cannot be read any more: %s: %s", error.what, error.why);
    remove_folder();
}

static void test_none(void)
{
    struct powercap powercap;
    struct error error = {0};
    tap_ok(!powercap_open(&powercap, folder, &error) && strstr(error.why, "no energy counters"),
           "no tree: %s", error.why);
    mkdir(folder, 0755);
    tap_ok(!powercap_open(&powercap, folder, &error) && strstr(error.why, "no energy counters"),
           "an empty tree: %s", error.why);
    make_zone("intel-rapl:0", "package-0", "1000000");
    char path[256];
    snprintf(path, sizeof path, "%s/intel-rapl:0/energy_uj", folder);
    chmod(path, 0);
    if (geteuid() == 0)
        tap_skip("root may read every counter");
    else
        tap_ok(!powercap_open(&powercap, folder, &error) && strstr(error.why, "only root"),
               "a counter for root: %s; %s", error.why, error.advice);
    remove_folder();
}

/* --- the meter of a device --- */

static void rest(long milliseconds)
{
    nanosleep(&(struct timespec){.tv_nsec = milliseconds * 1000000}, NULL);
}

static void test_processor(void)
{
    const struct device_driver driver = {.computes_on_host = true};
    const struct device device = {.driver = &driver};
    const struct energy_sources sources = {.powercap = folder};
    mkdir(folder, 0755);
    make_tree();
    struct energy_meter *meter = energy_meter_begin(&device, &sources);
    rest(60);
    write_file("intel-rapl:0", "energy_uj", "13000000");
    struct energy energy = energy_meter_end(meter);
    tap_ok(energy.known && close_to(energy.joules, 12) && energy.seconds >= 0.06 &&
               energy.seconds < 10,
           "12 J in %.3f s: %g %s", energy.seconds, energy.joules, energy.why_unknown);
    meter = energy_meter_begin(&device, &sources);
    write_file("intel-rapl:0", "energy_uj", "15000000");
    const struct energy first = energy_meter_lap(meter), second = energy_meter_lap(meter);
    tap_ok(first.known && close_to(first.joules, 2) && second.known && second.joules == 0,
           "laps: %g J, then %g J", first.joules, second.joules);
    energy_meter_end(meter);
    energy = energy_meter_end(energy_meter_begin(&device, &sources));
    if (strstr(energy.why_unknown, "did not change"))
        tap_skip("the machine is too busy for a measurement of less than 50 ms");
    else
        tap_ok(!energy.known && strstr(energy.why_unknown, "too short"),
               "a short measurement is not known: %s", energy.why_unknown);
    meter = energy_meter_begin(&device, &sources);
    rest(60);
    energy = energy_meter_end(meter);
    tap_ok(!energy.known && strstr(energy.why_unknown, "did not change"),
           "nor is one of counters that stand still: %s", energy.why_unknown);
    remove_folder();
    energy = energy_meter_end(energy_meter_begin(&device, &sources));
    tap_ok(!energy.known && strstr(energy.why_unknown, "no energy counters"),
           "nor is one without counters: %s", energy.why_unknown);
}

/* CUDA's order of the two cards of fake_nvml.c, whose buses are 2 and 1: the first one is NVML's
 * second. A third GPU is one that NVML does not have. */
static bool describe_gpu(size_t number, struct device_facts *facts)
{
    *facts = (struct device_facts){.pci = {.known = true, .bus = (unsigned)number + 1}};
    return true;
}

static void test_gpus(void)
{
    const struct device_driver driver = {.name = "cuda", .describe = describe_gpu};
    struct device first = {.driver = &driver, .number = 1}, second = {.driver = &driver};
    const struct device third = {.driver = &driver, .number = 2};
    const struct energy_sources sources = {.nvml = "./fake_nvml.so"};
    struct energy_meter *meter = energy_meter_begin(&first, &sources);
    rest(60);
    struct energy energy = energy_meter_end(meter);
    tap_ok(!energy.known && strstr(energy.why_unknown, "too short for the counter of a GPU"),
           "60 ms of a GPU are not known: %s", energy.why_unknown);
    meter = energy_meter_begin(&first, &sources);
    rest(510);
    energy = energy_meter_end(meter);
    tap_ok(energy.known && energy.joules >= 1.5 && energy.joules < 10, "a GPU: %g J %s",
           energy.joules, energy.why_unknown);
    energy = energy_meter_end(energy_meter_begin(&second, &sources));
    tap_ok(!energy.known && strstr(energy.why_unknown, "GPU 0 does not report"),
           "a GPU without a counter: %s", energy.why_unknown);
    energy = energy_meter_end(energy_meter_begin(&third, &sources));
    tap_ok(!energy.known && strstr(energy.why_unknown, "which of the GPUs"),
           "a GPU that NVML does not have: %s", energy.why_unknown);
    const struct energy_sources none = {.nvml = "./no_such_library.so"};
    energy = energy_meter_end(energy_meter_begin(&first, &none));
    tap_ok(!energy.known && energy.why_unknown[0], "no driver: %s", energy.why_unknown);
}

TEST_CASE(energy_test)
{
    const char *temporary = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.80s/tinca-energy-%ld", temporary ? temporary : "/tmp",
             (long)getpid());
    test_none();
    mkdir(folder, 0755);
    test_powercap();
    test_processor();
    test_gpus();
    return tap_done();
}

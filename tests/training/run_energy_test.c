/* The energy of runs, from made counters: pauses do not count, stopped and resumed runs go on with
 * their sums, and a counter that fails is named. */
#include "runs/record/resume.h"
#include "runs/record/run_open.h"
#include "training/run_start.h"

#include "powercap_tree.h"
#include "session_files.h"

#include <math.h>

#define SETTINGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static char counters[128];

/* Sets the counter of the only package. */
static void set_joules(unsigned joules)
{
    char text[32];
    snprintf(text, sizeof text, "%u000000", joules);
    powercap_write(counters, "intel-rapl:0", "energy_uj", text);
}

static struct run *start_long(void)
{
    struct run_config config = configure(SETTINGS("network=mlp", "data=digits,limit=64", "batch=8",
                                                  "iterations=1000000", "threads=1", "device=cpu"));
    struct error error;
    struct run *run = run_start(&config, &(struct run_options){0}, &error);
    if (!run)
        note_error(&error);
    return run;
}

/* Waits until the run has the status, or is over. */
static bool wait_for(struct run *run, enum run_status status)
{
    struct run_snapshot snapshot;
    do
        run_snapshot(run, &snapshot);
    while (snapshot.status != status && !run_wait(run, 0.001));
    return snapshot.status == status;
}

/* Stops a run when it has trained for a while. */
static struct run_snapshot stop(struct run *run)
{
    struct run_snapshot snapshot;
    usleep(60000);
    run_send(run, COMMAND_STOP, 0);
    run_wait(run, -1);
    run_snapshot(run, &snapshot);
    return snapshot;
}

static bool has_energy(const struct run_snapshot *snapshot, double joules)
{
    return fabs(snapshot->energy.joules - joules) < 1e-9 && run_snapshot_has_energy(snapshot) &&
           snapshot->energy.unknown[0] == '\0' &&
           fabs(run_snapshot_joules_per_image(snapshot) * snapshot->energy.images - joules) <
               1e-9 &&
           fabs(run_snapshot_watts(snapshot) * snapshot->energy.seconds - joules) < 1e-9;
}

/* Leaves the folder of a stopped run that has used 7 J in `directory`. */
static void test_pause(char *directory, size_t size)
{
    struct run *run = start_long();
    if (!tap_ok(run && wait_for(run, RUN_RUNNING), "a run with counters starts"))
        return;
    set_joules(102);
    run_send(run, COMMAND_PAUSE, 0);
    wait_for(run, RUN_PAUSED);
    set_joules(1000);
    run_send(run, COMMAND_SAVE, 0); /* a checkpoint reads the counters, too */
    run_send(run, COMMAND_GO_ON, 0);
    wait_for(run, RUN_RUNNING);
    set_joules(1005);
    const struct run_snapshot end = stop(run);
    tap_ok(has_energy(&end, 7), "2 J before a pause and 5 J after it: %g J of %g images",
           end.energy.joules, end.energy.images);
    tap_ok(end.energy.images == (double)end.iteration * 8, "all images count");
    snprintf(directory, size, "%s", run_facts(run)->directory);
    run_free(run);
}

static void test_stored(const char *directory)
{
    struct error error;
    struct run_snapshot snapshot = {0};
    struct run *run = run_open(directory, &error);
    if (run)
        run_snapshot(run, &snapshot);
    tap_ok(run && has_energy(&snapshot, 7), "the run's folder has it: %g J",
           snapshot.energy.joules);
    run_free(run);
}

static void test_resumed(const char *directory)
{
    struct error error = {0};
    struct run_config changes;
    config_defaults(&changes);
    struct run *run = run_resume(directory, &changes, NULL, &error);
    if (!tap_ok(run && wait_for(run, RUN_RUNNING), "the run goes on %s", error.why))
        return;
    set_joules(1013);
    const struct run_snapshot end = stop(run);
    tap_ok(has_energy(&end, 15), "8 J more: %g J", end.energy.joules);
    run_free(run);
}

static void test_failing(void)
{
    struct run_snapshot snapshot;
    struct run *run = start_long();
    if (!tap_ok(run && wait_for(run, RUN_RUNNING), "another run starts"))
        return;
    powercap_remove(counters);
    do
        run_snapshot(run, &snapshot);
    while (snapshot.energy.unknown[0] == '\0' && !run_wait(run, 0.001));
    tap_ok(strstr(snapshot.energy.unknown, "intel-rapl:0"), "a counter that fails is named: %s",
           snapshot.energy.unknown);
    snapshot = stop(run);
    tap_ok(snapshot.status == RUN_STOPPED && snapshot.energy.images == 0 &&
               isnan(run_snapshot_joules_per_image(&snapshot)) &&
               isnan(run_snapshot_watts(&snapshot)),
           "the run goes on, and its energy is not known");
    run_free(run);
}

static void test_none(void)
{
    struct run *run = start_long();
    if (!tap_ok(run && wait_for(run, RUN_RUNNING), "a run without counters starts"))
        return;
    const struct run_snapshot end = stop(run);
    tap_ok(strstr(end.energy.unknown, "no energy counters") && end.energy.joules == 0,
           "and says why there is no energy: %s", end.energy.unknown);
    run_free(run);
}

static void test_short(void)
{
    struct run_config config = configure(SETTINGS("network=mlp", "data=digits,limit=8", "batch=8",
                                                  "iterations=1", "threads=1", "device=cpu"));
    struct error error;
    struct run_snapshot end = {0};
    powercap_make_zone(counters, "intel-rapl:0", "package-0", "100000000");
    struct run *run = run_start(&config, &(struct run_options){0}, &error);
    if (run) {
        run_wait(run, -1);
        run_snapshot(run, &end);
    }
    if (strstr(end.energy.unknown, "did not change"))
        tap_skip("the machine is too busy for a run of less than 50 ms");
    else
        tap_ok(end.status == RUN_DONE && isnan(run_snapshot_watts(&end)) &&
                   strstr(end.energy.unknown, "too short"),
               "a run of one iteration: %s", end.energy.unknown);
    run_free(run);
}

TEST_CASE(run_energy_test)
{
    char directory[600] = "";
    if (!make_home())
        return 1;
    snprintf(counters, sizeof counters, "%s/powercap", test_home);
    setenv("TINCA_POWERCAP", counters, 1);
    powercap_make_zone(counters, "intel-rapl:0", "package-0", "100000000");
    test_pause(directory, sizeof directory);
    test_stored(directory);
    test_resumed(directory);
    test_failing();
    test_none();
    test_short();
    remove_home();
    return tap_done();
}

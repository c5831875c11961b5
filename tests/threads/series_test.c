/* Curves, snapshots and commands between two threads: complete, in order, and without waiting. */
#include "runs/record/run_state.h"
#include "runs/values/pace.h"
#include "runs/values/series.h"
#include "runs/values/statistics.h"

#include "tap.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

static void test_stride(void)
{
    struct series series;
    uint64_t iterations = (uint64_t)SERIES_MAX_POINTS * 2 + 3;
    tap_ok(series_create(&series, iterations, 1, NULL) && series.stride == 3 &&
               series.capacity <= SERIES_MAX_POINTS,
           "a long run stores every third point");
    for (uint64_t i = 1; i <= 10; i++)
        series_add(&series, &(struct series_point){.iteration = i});
    tap_ok(series_count(&series) == 4 && series.points[3].iteration == 10, "the first and so on");
    series_free(&series);
    tap_ok(series_create(&series, 2, 1, NULL) && series.stride == 1,
           "a short run stores all points");
    for (uint64_t i = 1; i <= 5; i++) {
        series_add(&series, &(struct series_point){.iteration = i});
        series_add_validation(&series, &(struct series_validation){.iteration = i});
    }
    tap_ok(series_count(&series) == 2 && series_validation_count(&series) == 2,
           "points beyond the run are not stored");
    series_free(&series);
}

/* --- two threads --- */

enum { ROUNDS = 20000 };

struct shared {
    struct series series;
    struct snapshot_cell cell;
    struct command_box box;
};

/* Fields at distant places in the struct change together. */
static void *write_all(void *context)
{
    struct shared *shared = context;
    struct run_snapshot snapshot = {0};
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        series_add(&shared->series,
                   &(struct series_point){.iteration = i, .loss = (float)i, .memory_bytes = i});
        snapshot.iteration = i;
        snapshot.loss = (float)i;
        snapshot.elapsed_seconds = (double)i;
        snapshot.finding_count = i;
        memset(snapshot.error.advice, (int)(i % 26) + 'a', sizeof snapshot.error.advice);
        snapshot_publish(&shared->cell, &snapshot);
    }
    return NULL;
}

static bool snapshot_is_whole(const struct run_snapshot *snapshot)
{
    uint64_t i = snapshot->iteration;
    return i == 0 ||
           (snapshot->loss == (float)i && snapshot->elapsed_seconds == (double)i &&
            snapshot->finding_count == i && snapshot->error.advice[0] == (char)(i % 26 + 'a') &&
            snapshot->error.advice[sizeof snapshot->error.advice - 1] == (char)(i % 26 + 'a'));
}

static void test_hand_over(void)
{
    static struct shared shared;
    pthread_t thread;
    bool whole = true, ordered = true;
    uint64_t last = 0;
    if (!series_create(&shared.series, ROUNDS, 0, NULL) ||
        pthread_create(&thread, NULL, write_all, &shared) != 0)
        return;
    while (last < ROUNDS) {
        struct run_snapshot snapshot;
        snapshot_read(&shared.cell, &snapshot);
        size_t count = series_count(&shared.series);
        whole &= snapshot_is_whole(&snapshot);
        ordered &= snapshot.iteration >= last && count >= snapshot.iteration;
        for (size_t i = count > 100 ? count - 100 : 0; i < count; i++)
            whole &= shared.series.points[i].iteration == i + 1 &&
                     shared.series.points[i].memory_bytes == i + 1;
        last = snapshot.iteration;
    }
    pthread_join(thread, NULL);
    tap_ok(whole, "a copied snapshot is never half old and half new");
    tap_ok(ordered, "time advances, and points are visible before the snapshot that counts them");
    series_free(&shared.series);
}

static void *send_some(void *context)
{
    struct shared *shared = context;
    for (int i = 0; i < 1000; i++) {
        commands_send(&shared->box, COMMAND_PAUSE, 0);
        commands_send(&shared->box, COMMAND_LEARNING_RATE, 0.25);
        commands_send(&shared->box, COMMAND_GO_ON, 0);
    }
    commands_send(&shared->box, COMMAND_STOP, 0);
    return NULL;
}

static void test_commands(void)
{
    static struct shared shared;
    pthread_t thread;
    commands_create(&shared.box, NULL);
    tap_ok(commands_take(&shared.box).set == 0, "at first there is no command");
    commands_send(&shared.box, COMMAND_PAUSE, 0);
    commands_send(&shared.box, COMMAND_GO_ON, 0);
    struct commands commands = commands_take(&shared.box);
    tap_ok(!commands_have(&commands, COMMAND_PAUSE) && commands_have(&commands, COMMAND_GO_ON),
           "of pause and continue the last one counts");
    if (pthread_create(&thread, NULL, send_some, &shared) != 0)
        return;
    bool contrary = false, stopped = false, rate = true;
    while (!stopped) {
        commands_wait(&shared.box);
        commands = commands_take(&shared.box);
        contrary |=
            commands_have(&commands, COMMAND_PAUSE) && commands_have(&commands, COMMAND_GO_ON);
        if (commands_have(&commands, COMMAND_LEARNING_RATE))
            rate &= commands.learning_rate == 0.25;
        stopped = commands_have(&commands, COMMAND_STOP);
    }
    pthread_join(thread, NULL);
    tap_ok(!contrary && rate, "commands from another thread arrive, with their values");
    commands_free(&shared.box);
}

/* --- numbers --- */

static bool near(double a, double b, double relative)
{
    return fabs(a - b) <= relative * fabs(b);
}

static void test_numbers(void)
{
    static struct tempo tempo;
    for (int i = 1; i <= 999; i++)
        tempo_add(&tempo, i);
    tap_ok(near(tempo_median(&tempo), 500, 0.003) && near(tempo_now(&tempo), 991.5, 1e-12),
           "the tempo knows median and present (%.3f, %.3f)", tempo_median(&tempo),
           tempo_now(&tempo));
    tempo_add(&tempo, 0);
    tempo_add(&tempo, INFINITY);
    tap_ok(isfinite(tempo_median(&tempo)), "odd times do no harm");
    struct statistics statistics;
    const double values[] = {4, 1, 3, 2};
    tap_ok(statistics_compute(values, 4, &statistics, NULL) && statistics.median == 2.5 &&
               statistics.min == 1 && statistics.mean == 2.5 &&
               near(statistics.sd, 1.2909944487358056, 1e-12) &&
               near(statistics.ci95, 3.182446305284263 * statistics.sd / 2, 1e-12),
           "median, mean, deviation and Student's interval of four values");
    tap_ok(statistics_compute(values, 0, &statistics, NULL) && isnan(statistics.mean) &&
               isnan(statistics.median) && isnan(statistics.min) && isnan(statistics.sd) &&
               statistics_compute(values, 1, &statistics, NULL) && statistics.mean == 4 &&
               isnan(statistics.sd) && isnan(statistics.ci95),
           "and of none and one");
}

static void test_spread(void)
{
    tap_ok(strcmp(STATISTICS_SPREAD(0.123, 0.0456), ", sd 0.12, 95 % +- 0.046") == 0,
           "a spread is written with two digits");
    tap_ok(strcmp(STATISTICS_SPREAD((double)NAN, (double)NAN), " (one value has no spread)") == 0,
           "of one value the text says that it has none");
    tap_ok(strcmp(STATISTICS_MEAN(2.31, 0.04), "2.31 +- 0.04") == 0 &&
               strcmp(STATISTICS_MEAN(2.31, (double)NAN), "2.31") == 0 &&
               strcmp(STATISTICS_MEAN((double)NAN, (double)NAN), "NaN") == 0,
           "a mean without an interval stands alone");
}

TEST_CASE(series_test)
{
    test_spread();
    test_stride();
    test_hand_over();
    test_commands();
    test_numbers();
    return tap_done();
}

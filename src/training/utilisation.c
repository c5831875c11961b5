/* Measures how the run uses the machine: its memory and the state of its data loader. Both are read
 * at most four times a second, and once when the last iteration is over. */
#include "training/observer.h"

#include "base/host/host.h"

struct utilisation {
    uint64_t measured;   /* clock_nanoseconds: when measured last */
    double earlier_wait; /* seconds that earlier processes waited for data */
    struct watcher watcher;
};

/* Names the pictures that could not be read: those that the loader found last, or else those that
 * were left out when the set was opened. */
static void name_broken(const struct preparation *prepared, char *names, size_t size)
{
    const struct broken_list *broken = dataset_facts(prepared->data)->broken;
    data_loader_broken(prepared->loader, names, size);
    if (!names[0] && broken)
        broken_list_words(broken, names, size);
}

static void measure_memory(struct utilisation *utilisation, struct trainer *trainer)
{
    struct finding finding;
    struct run_snapshot *now = &trainer->now;
    const struct preparation *prepared = &trainer->prepared;
    const bool on_host = prepared->device->driver->computes_on_host;
    now->memory_measured = on_host ? host_process_memory() : device_memory_used(prepared->device);
    now->memory_highest = on_host ? host_process_peak() : now->memory_measured;
    if (watcher_memory(&utilisation->watcher, trainer->moment, prepared->memory_expected,
                       now->memory_measured, &finding))
        trainer_add_finding(trainer, &finding);
}

static void measure(struct utilisation *utilisation, struct trainer *trainer)
{
    struct finding finding;
    char names[200] = "";
    struct data_loader_statistics loader;
    const struct preparation *prepared = &trainer->prepared;
    data_loader_statistics(prepared->loader, &loader);
    trainer->now.feed_wait_seconds = utilisation->earlier_wait + loader.waited_seconds;
    measure_memory(utilisation, trainer);
    const uint64_t skipped = dataset_facts(prepared->data)->skipped + loader.skipped;
    if (skipped > utilisation->watcher.skipped)
        name_broken(prepared, names, sizeof names);
    if (watcher_data(&utilisation->watcher, trainer->moment, skipped, trainer->settings.data.data,
                     names, &finding))
        trainer_add_finding(trainer, &finding);
}

static void restore(void *state, struct trainer *trainer)
{
    struct utilisation *utilisation = state;
    utilisation->earlier_wait = trainer->now.feed_wait_seconds;
}

static void begin(void *state, struct trainer *trainer)
{
    if (trainer_is_over(trainer))
        measure(state, trainer);
}

static void after_iteration(void *state, struct trainer *trainer, struct iteration *iteration)
{
    static const uint64_t interval = 250000000; /* nanoseconds */
    struct utilisation *utilisation = state;
    if (iteration->now - utilisation->measured >= interval) {
        utilisation->measured = iteration->now;
        measure(utilisation, trainer);
    }
    iteration->point.memory_bytes = trainer->now.memory_measured;
}

static bool between(void *state, struct trainer *trainer, bool epoch_over)
{
    (void)epoch_over;
    if (trainer_is_over(trainer))
        measure(state, trainer);
    return true;
}

static void end(void *state, struct trainer *trainer, enum run_status status, bool writes)
{
    (void)state;
    (void)status;
    (void)writes;
    trainer->now.memory_highest = host_process_peak();
}

static const struct saved_number numbers[] = {
    SAVED(FLAG, "watcher.memory", struct utilisation, watcher.memory_reported),
    SAVED(COUNT, "watcher.skipped", struct utilisation, watcher.skipped),
    SAVED_OF_TRAINER(NUMBER, "feed_wait_seconds", now.feed_wait_seconds),
    {0}};

const struct observer observer_utilisation = {.name = "utilisation",
                                              .state_bytes = sizeof(struct utilisation),
                                              .numbers = numbers,
                                              .restore = restore,
                                              .begin = begin,
                                              .after_iteration = after_iteration,
                                              .between = between,
                                              .end = end};

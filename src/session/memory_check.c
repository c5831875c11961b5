/* A run that goes to swap is up to 32 times slower (Trindade 2017), so it is refused beforehand.
 * What counts is the plan's forecast and the feed's ring, whose batches hold the images. */
#include "session/memory_check.h"

#include "base/host.h"
#include "base/language.h"
#include "base/text.h"
#include "engine/gan.h"

#include <stdio.h>
#include <sys/resource.h>

enum {
    RING_SLOTS = 3,   /* batches that the feed holds; more only for batches of a few images */
    RESERVE_SHARE = 8 /* threads, data sets and the rest get an eighth of what is free */
};

/* Under a limit on addresses (ulimit -v), what is only reserved counts as well: OpenBLAS maps 128
 * MiB a thread at its first call, and tries for ever when it cannot; malloc reserves 64 MiB a
 * thread, and a stack takes 8. Two more threads read images. */
static uint64_t address_reserve(size_t threads)
{
    const uint64_t each = (uint64_t)200 << 20;
    struct rlimit addresses, data;
    bool limited = (getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY) ||
                   (getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur != RLIM_INFINITY);
    return limited ? (threads + 2) * each : 0;
}

static uint64_t usable_memory(size_t threads, bool beforehand, enum memory_bound *bound)
{
    uint64_t usable = host_memory_free_by(bound), reserve = address_reserve(threads);
    if (usable == 0)
        return 0;
    if (beforehand)
        usable -= usable / RESERVE_SHARE;
    return usable > reserve ? usable - reserve : 1; /* 0 would mean "not known" */
}

/* On a device with memory of its own as many are there: one is computed, two are on their way.
 * Of a network that makes images the batches hold a target besides each image. */
static uint64_t feed_bytes(const struct forecast *forecast, size_t batch)
{
    const uint64_t images = (uint64_t)RING_SLOTS * batch * (forecast->classes ? 1 : 2);
    return images * shape_count(forecast->input) * sizeof(float);
}

bool memory_plan(const struct network *network, const struct device_driver *driver,
                 const struct plan_settings *settings, struct memory_forecast *memory,
                 struct error *error)
{
    if (settings->mode == PLAN_TRAINING && network_has_discriminator(network)) {
        struct gan_plan plan;
        bool built = gan_plan_build(&plan, network, driver, settings, error);
        *memory = plan.forecast;
        gan_plan_free(&plan);
        return built;
    }
    struct plan *plan = plan_build(&network->graph, driver, settings, error);
    if (plan)
        *memory = plan->forecast;
    bool built = plan;
    plan_free(plan);
    return built;
}

static bool batch_fits(const struct network *network, const struct device_driver *driver,
                       const struct plan_settings *settings, const struct forecast *forecast,
                       size_t batch)
{
    struct plan_settings smaller = *settings;
    struct memory_forecast memory;
    smaller.batch = batch;
    return memory_plan(network, driver, &smaller, &memory, NULL) &&
           memory.total + feed_bytes(forecast, batch) <= forecast->memory_free;
}

void memory_check(const struct network *network, const struct device_driver *driver,
                  const struct plan_settings *settings, bool beforehand, struct forecast *forecast)
{
    forecast->feed_bytes = feed_bytes(forecast, settings->batch);
    forecast->memory_free =
        driver->host_memory ? usable_memory(settings->threads, beforehand, &forecast->memory_bound)
                            : forecast->device_free;
    forecast->fits = forecast->memory_free == 0 ||
                     forecast->memory.total + forecast->feed_bytes <= forecast->memory_free;
    size_t fits = 0, too_large = settings->batch;
    while (!forecast->fits && too_large - fits > 1) {
        size_t middle = fits + (too_large - fits) / 2;
        if (batch_fits(network, driver, settings, forecast, middle))
            fits = middle;
        else
            too_large = middle;
    }
    forecast->largest_batch = fits;
}

bool forecast_refuse(const struct forecast *forecast, size_t batch, struct error *error)
{
    char what[64], needed[32], free_bytes[32], advice[96];
    snprintf(what, sizeof what, _("batch %zu"), batch);
    if (forecast->largest_batch)
        snprintf(advice, sizeof advice, _("batch %zu would fit"), forecast->largest_batch);
    else
        snprintf(advice, sizeof advice, "%s", _("choose a smaller network, or free some memory"));
    return error_set(
        error, ERROR_MEMORY, what, advice,
        forecast->largest_batch
            ? N_("it needs %s of memory, and %s are free for it")
            : N_("it needs %s of memory, and %s are free for it; not even one image fits"),
        text_bytes(forecast->memory.total + forecast->feed_bytes, needed, sizeof needed),
        text_bytes(forecast->memory_free, free_bytes, sizeof free_bytes));
}

/* Forecasts the peak memory of a run, because a run that swaps is up to 32 times slower (Trindade
 * 2017).
 *
 * The peak is the sum of the process's present memory, the plan's forecast, the data loader's
 * prefetch queue, and the rest: data sets in memory, validation, the memory of the run's observers,
 * and the tables of plan and execution. Each term is computed from the sizes that will be
 * allocated; tests/cli/forecast_test.sh compares the sum with the measured peak.
 *
 * Validation uses the largest batch that fits, which is often the first that is tried; its plan is
 * the one that the run then uses. If not even a batch of one image fits, the run does not fit; only
 * then other batches of training are planned, to name one that would fit. */
#include "training/prepare/forecast.h"

#include "base/host/host.h"
#include "base/host/memory_room.h"
#include "base/language.h"
#include "base/text.h"
#include "data/loader/data_loader.h"

#include <stdio.h>
#include <string.h>

enum { LISTED_FILE = 400 }; /* bytes of an entry of data.json: five JSON values and their text */
/* A run loads at most half of the code that is absent when it begins: the rest belongs to screens
 * and to other commands (1.3 MiB were absent before training SqueezeNet, of which 0.3 MiB were
 * read). */
enum { LOADED_SHARE = 2 };
enum {
    RESERVE_SHARE = 20
}; /* a twentieth stays free, because the forecast may be wrong by that much */

/* Returns how many of `bytes` free bytes the run may use; at least 1, because 0 means unknown. */
static uint64_t usable_bytes(uint64_t bytes, const struct memory_check_request *request)
{
    uint64_t reserve = memory_room_reserve(request->settings->threads, request->beforehand);
    if (request->beforehand)
        bytes -= bytes / RESERVE_SHARE;
    return bytes > reserve ? bytes - reserve : 1;
}

/* --- the memory of a run --- */

static size_t gpu_count(const struct memory_check_request *request)
{
    return request->settings->ranks ? request->settings->ranks : 1;
}

/* Returns the bytes of batches in a GPU's memory: one is computed and two are being copied, as
 * floats or as 8-bit samples. Each of several GPUs holds its share of a batch. */
static uint64_t device_batch_bytes(const struct memory_check_request *request,
                                   const struct forecast *forecast, size_t batch)
{
    const uint64_t images = (uint64_t)batch / gpu_count(request) * (forecast->classes ? 1 : 2);
    const size_t copied = request->settings->sample_batches ? sizeof(uint8_t) : sizeof(float);
    return images * shape_count(forecast->input) * (sizeof(float) + 2 * copied);
}

/* Returns the bytes of batches that are prepared ahead. Networks that generate images (no classes)
 * have a target for each image. */
static uint64_t loader_bytes(const struct memory_check_request *request,
                             const struct forecast *forecast, size_t batch)
{
    const struct data_loader_settings settings = {.batch = batch, .training = true};
    if (!request->driver->computes_on_host)
        return device_batch_bytes(request, forecast, batch);
    return data_loader_bytes(&settings, SIZE_MAX, shape_count(forecast->input), !forecast->classes,
                             request->stored);
}

/* Returns the bytes of pictures while they are decoded, and of the list of their files. Only the
 * workers of one data loader decode at a time (data_loader_pause), or they all rest while the run
 * needs other memory for a moment, so the largest of the three counts. GPU memory has none of this.
 */
static uint64_t bytes_of_files(const struct memory_check_request *request)
{
    const struct data_loader_settings any = {.batch = 1};
    if (!request->driver->computes_on_host)
        return 0;
    const uint64_t training =
        data_loader_worker_count(&any, request->stored) * request->decode_bytes;
    const uint64_t validation = data_loader_worker_count(&any, request->validation_stored) *
                                request->validation_decode_bytes;
    const uint64_t most = training > validation ? training : validation;
    return (most > request->at_rest ? most : request->at_rest) +
           LISTED_FILE * (uint64_t)request->files;
}

bool memory_check_inference(const struct memory_check_request *request, size_t batch,
                            struct plan **plan, struct error *error)
{
    if (*plan && (*plan)->batch == batch)
        return true;
    plan_free(*plan);
    const struct plan_settings settings = {.mode = PLAN_INFERENCE,
                                           .batch = batch,
                                           .threads = request->settings->threads,
                                           .strict_device = request->settings->strict_device,
                                           .precision = request->settings->precision,
                                           .device = request->settings->device,
                                           .machine = request->settings->machine,
                                           .choices = request->settings->choices,
                                           .sample_batches = request->validation_samples,
                                           .with_loss = request->validation > 0};
    *plan = plan_build(&request->method->network->graph, request->driver, &settings, error);
    return *plan;
}

/* Returns the bytes of a validation with this plan, without the weights, which training has. */
static uint64_t validation_bytes(const struct memory_check_request *request,
                                 const struct plan *plan)
{
    const struct data_loader_settings loader = {.batch = plan->batch};
    const size_t values = shape_count(request->method->network->input);
    const size_t images = request->validation_images ? request->validation_images : SIZE_MAX;
    return plan_bytes_beside_weights(plan) + data_loader_bytes(&loader, images, values,
                                                               !request->method->network->classes,
                                                               request->validation_stored);
}

uint64_t forecast_needed(const struct forecast *forecast)
{
    return forecast->memory.total + forecast->loader_bytes + forecast->other_bytes;
}

uint64_t forecast_peak(const struct forecast *forecast)
{
    return forecast->program_bytes + forecast_needed(forecast);
}

uint64_t forecast_free(const struct forecast *forecast)
{
    return forecast->memory_free > 0 ? forecast->program_bytes + forecast->memory_free : 0;
}

/* --- sizes that fit --- */

/* Returns the bytes of a run with this batch, of which `least` are for everything but plan and
 * batches; UINT64_MAX if it cannot be planned. */
static uint64_t bytes_at_batch(const struct memory_check_request *request,
                               const struct forecast *forecast, size_t batch, uint64_t least)
{
    struct plan_settings smaller = *request->settings;
    struct memory_forecast memory;
    smaller.batch = batch;
    smaller.only_forecast = true;
    return method_forecast(request->method, request->driver, &smaller, &memory, NULL)
               ? memory.total + memory.tables + loader_bytes(request, forecast, batch) + least
               : UINT64_MAX;
}

static size_t find_largest_batch(const struct memory_check_request *request,
                                 const struct forecast *forecast, uint64_t least)
{
    const size_t gpus = gpu_count(request);
    size_t fits = 0, too_large = request->settings->batch / gpus; /* per GPU */
    while (too_large - fits > 1) {
        size_t middle = fits + (too_large - fits) / 2;
        if (bytes_at_batch(request, forecast, middle * gpus, least) <= forecast->memory_free)
            fits = middle;
        else
            too_large = middle;
    }
    return fits * gpus;
}

/* Fills the memory that is free for the run. */
static void set_free(const struct memory_check_request *request,
                     const struct available_memory *available, struct forecast *forecast)
{
    forecast->memory_free = usable_bytes(available->without_swap, request);
    forecast->memory_bound = available->bound;
    forecast->memory_limit = available->bound == BOUND_ULIMIT ? available->without_swap : 0;
    forecast->reserved_bytes = memory_room_reserve(request->settings->threads, request->beforehand);
}

/* Compares the run's memory with the free memory, for `validation` in the smallest batch that was
 * tried: larger ones do not decide. */
static void compare(const struct memory_check_request *request,
                    const struct available_memory *available, uint64_t validation,
                    struct forecast *forecast)
{
    const uint64_t needed = forecast_needed(forecast) + validation;
    const uint64_t least = forecast->other_bytes - forecast->memory.tables + validation;
    forecast->fits = needed <= usable_bytes(available->with_swap, request);
    forecast->swaps = forecast->fits && needed > forecast->memory_free;
    if (!forecast->fits || forecast->swaps)
        forecast->largest_batch = find_largest_batch(request, forecast, least);
}

/* Plans validations in the largest batch that fits into `left` bytes, and sets *bytes to their
 * memory. Returns false with an error. */
static bool choose_validation(const struct memory_check_request *request, uint64_t left,
                              struct plan **plan, uint64_t *bytes, struct error *error)
{
    size_t batch = request->validation;
    do {
        if (!memory_check_inference(request, batch, plan, error))
            return false;
        *bytes = validation_bytes(request, *plan);
        batch /= 2;
    } while (batch > 0 && *bytes > left);
    return true;
}

/* Returns the available memory of the host or the GPU, which cannot swap; BOUND_UNKNOWN if it is
 * unknown. */
static struct available_memory find_available(const struct memory_check_request *request)
{
    struct available_memory available = {.bound = BOUND_UNKNOWN};
    if (request->available)
        return *request->available;
    if (request->driver->computes_on_host)
        host_available_memory(&available);
    else if (request->device &&
             (available.without_swap = device_memory_free(request->device)) > 0) {
        available.with_swap = available.without_swap;
        available.bound = BOUND_MACHINE;
    }
    return available;
}

/* Returns the memory of the process now, and that of the parts of the program that it will load. */
static uint64_t bytes_of_program(const struct memory_check_request *request)
{
    const struct device_driver *driver = request->driver;
    const uint64_t unloaded = host_program_unloaded_bytes();
    const uint64_t idle =
        driver->idle_code_bytes ? driver->idle_code_bytes(request->settings->precision) : 0;
    return host_process_memory() + (unloaded > idle ? (unloaded - idle) / LOADED_SHARE : 0);
}

bool memory_check(const struct memory_check_request *request, struct forecast *forecast,
                  struct plan **inference, struct error *error)
{
    const bool on_host = request->driver->computes_on_host;
    const struct available_memory available = find_available(request);
    uint64_t validation = 0;
    forecast->loader_bytes = loader_bytes(request, forecast, request->settings->batch);
    forecast->program_bytes = on_host ? bytes_of_program(request) : 0;
    forecast->other_bytes = (on_host ? request->data_bytes : 0) + request->beside +
                            bytes_of_files(request) + forecast->memory.tables;
    forecast->fits = true;
    forecast->validation_available = UINT64_MAX;
    if (available.bound != BOUND_UNKNOWN) {
        const uint64_t needed = forecast_needed(forecast);
        set_free(request, &available, forecast);
        forecast->validation_available =
            needed < forecast->memory_free ? forecast->memory_free - needed : 0;
    }
    if (request->validation &&
        !choose_validation(request, forecast->validation_available, inference, &validation, error))
        return false;
    if (available.bound != BOUND_UNKNOWN)
        compare(request, &available, validation, forecast);
    forecast->other_bytes += validation;
    return true;
}

/* --- in words --- */

size_t forecast_parts(const struct memory_forecast *memory, struct memory_part parts[MEMORY_PARTS])
{
    const struct memory_part all[MEMORY_PARTS] = {
        {N_("weights"), memory->weights},     {N_("gradients"), memory->gradients},
        {N_("solver"), memory->solver},       {N_("activations"), memory->activations},
        {N_("workspace"), memory->workspace}, {N_("teacher"), memory->teacher}};
    memcpy(parts, all, sizeof all);
    return MEMORY_PARTS - (memory->teacher == 0);
}

static void advise(const struct forecast *forecast, char *advice, size_t size)
{
    if (forecast->largest_batch)
        snprintf(advice, size, _("batch %zu would fit"), forecast->largest_batch);
    else if (forecast->memory_limit)
        snprintf(advice, size, "%s", _("give fewer --threads, or raise the limit (ulimit)"));
    else
        snprintf(advice, size, "%s", _("choose a smaller network, or free some memory"));
}

bool forecast_refuse(const struct forecast *forecast, size_t batch, struct error *error)
{
    char what[64], needed[32], reserved[32], free_bytes[32], advice[96];
    snprintf(what, sizeof what, _("batch %zu"), batch);
    advise(forecast, advice, sizeof advice);
    if (forecast->memory_limit && forecast->memory_free == 1)
        return error_set(error, ERROR_MEMORY, what, advice,
                         N_("it needs %s of memory and %s of addresses for its threads, and the "
                            "limit of the process leaves %s; not even one image fits"),
                         text_bytes(forecast_needed(forecast), needed, sizeof needed),
                         text_bytes(forecast->reserved_bytes, reserved, sizeof reserved),
                         text_bytes(forecast->memory_limit, free_bytes, sizeof free_bytes));
    return error_set(
        error, ERROR_MEMORY, what, advice,
        forecast->largest_batch
            ? N_("it needs %s of memory, and %s are free for it")
            : N_("it needs %s of memory, and %s are free for it; not even one image fits"),
        text_bytes(forecast_peak(forecast), needed, sizeof needed),
        text_bytes(forecast_free(forecast), free_bytes, sizeof free_bytes));
}

char *forecast_swap_text(const struct forecast *forecast, size_t batch, char *text, size_t size)
{
    char needed[32], free_bytes[32];
    text_bytes(forecast_peak(forecast), needed, sizeof needed);
    text_bytes(forecast_free(forecast), free_bytes, sizeof free_bytes);
    if (forecast->largest_batch)
        snprintf(text, size,
                 _("batch %zu needs %s of memory, and %s are free: it would swap, which can make "
                   "it 4 to 32 times slower; batch %zu would not"),
                 batch, needed, free_bytes, forecast->largest_batch);
    else
        snprintf(text, size,
                 _("batch %zu needs %s of memory, and %s are free: it would swap, which can make "
                   "it 4 to 32 times slower, and so would each smaller batch"),
                 batch, needed, free_bytes);
    return text;
}

char *forecast_limit_text(const struct memory_forecast *memory, char *text, size_t size)
{
    char limited[32], unlimited[32];
    const double work = plan_recompute_overhead(memory);
    if (size > 0)
        text[0] = '\0';
    if (memory->unlimited <= memory->total)
        return text;
    text_bytes(memory->total, limited, sizeof limited);
    text_bytes(memory->unlimited, unlimited, sizeof unlimited);
    if (work >= 0.05)
        snprintf(text, size, _("%s instead of %s by recomputing values: %.1f %% more FLOPs"),
                 limited, unlimited, work);
    else
        snprintf(text, size, _("%s instead of %s by recomputing values: under 0.1 %% more FLOPs"),
                 limited, unlimited);
    return text;
}

char *forecast_fallback_text(const struct memory_forecast *memory, char *text, size_t size)
{
    char bytes[32];
    const size_t layers = (size_t)memory->fallback_nodes;
    if (size > 0)
        text[0] = '\0';
    if (layers > 0 && memory->fallback_bytes > 0)
        snprintf(
            text, size,
            ngettext("the device has no kernel for %zu layer: the reference kernel computes it "
                     "on the host, and an iteration copies %s between host and device",
                     "the device has no kernel for %zu layers: the reference kernels compute "
                     "them on the host, and an iteration copies %s between host and device",
                     layers),
            layers, text_bytes(memory->fallback_bytes, bytes, sizeof bytes));
    else if (layers > 0)
        snprintf(
            text, size,
            ngettext("the device has no kernel for %zu layer: the reference kernel computes it "
                     "on one thread",
                     "the device has no kernel for %zu layers: the reference kernels compute "
                     "them on one thread",
                     layers),
            layers);
    return text;
}

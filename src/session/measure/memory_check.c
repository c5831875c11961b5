/* A run that goes to swap is up to 32 times slower (Trindade 2017), so this is known beforehand.
 *
 * What counts is the plan's forecast, the loader's ring, whose batches hold the images, and what a
 * run holds besides: the images of the set where they lie in memory, validation, samples, curves,
 * the tables of plan and execution. Each is a sum of the sizes that are then asked for. With the
 * program as it is now they make the peak of the process; tests/cli/forecast_test.sh measures.
 *
 * A validation takes smaller batches where there is less room: for what fits, its smallest counts.
 */
#include "session/measure/memory_check.h"

#include "base/host/host.h"
#include "base/host/host_load.h"
#include "base/language.h"
#include "base/text.h"
#include "data/loader/data_loader.h"
#include "engine/execution/gan.h"
#include "session/files/sample_files.h"

#include <stdio.h>
#include <sys/resource.h>

enum { LISTED_FILE = 400 }; /* an entry of data.json: five JSON values and a name, once as text */
enum { PNG_WRITER = 268 << 10 }; /* zlib's window and tables, as libpng asks for them */
enum { RESERVE_SHARE = 20 };     /* the forecast may be wrong by a twentieth: so much stays free */

#define MEBIBYTES(n) ((uint64_t)(n) << 20)

/* The addresses of a thread's stack, as pthread_create chooses them. */
static uint64_t stack_bytes(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return MEBIBYTES(2);
    return limit.rlim_cur;
}

/* Under a limit on addresses (ulimit -v, -d), what is only reserved counts as well. OpenBLAS maps
 * 128 MiB for each thread that is in a product, and tries for ever when it cannot (what 0.3.29 maps
 * when it is loaded is of no use to our threads). Every thread has
 * a stack: the run's own, the others that compute, and two that read images. malloc reserves
 * nothing for them: the program keeps to one arena there (main.c). Of threads that are there
 * already, the readers and OpenBLAS's part are still to come. */
static uint64_t address_reserve(size_t threads, bool beforehand)
{
    if (!host_addresses_are_limited())
        return 0;
    return threads * MEBIBYTES(128) + (beforehand ? threads + 2 : 2) * stack_bytes();
}

/* 0 would mean "not known". */
static uint64_t leave_room(uint64_t bytes, const struct memory_check_request *question)
{
    uint64_t reserve = address_reserve(question->settings->threads, question->beforehand);
    if (question->beforehand)
        bytes -= bytes / RESERVE_SHARE;
    return bytes > reserve ? bytes - reserve : 1;
}

/* --- what a run holds --- */

static size_t cards_of(const struct memory_check_request *question)
{
    return question->settings->ranks ? question->settings->ranks : 1;
}

/* A device with memory of its own computes one batch, or of several cards each its part, and two
 * are on their way to it. */
static uint64_t batches_there(const struct memory_check_request *question,
                              const struct forecast *forecast, size_t batch)
{
    const uint64_t images = 3 * (uint64_t)batch / cards_of(question) * (forecast->classes ? 1 : 2);
    return images * shape_count(forecast->input) * sizeof(float);
}

/* Of a network that makes images the batches hold a target besides each image. */
static uint64_t loader_bytes(const struct memory_check_request *question,
                             const struct forecast *forecast, size_t batch)
{
    const struct data_loader_settings settings = {.batch = batch, .training = true};
    if (!question->driver->computes_on_host)
        return batches_there(question, forecast, batch);
    return data_loader_bytes(&settings, SIZE_MAX, shape_count(forecast->input), !forecast->classes,
                             question->stored);
}

bool memory_check_plan(const struct network *network, const struct device_driver *driver,
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

/* Returns what the picture of all samples takes while it is written: see samples_write. */
static uint64_t bytes_of_sheet(const struct memory_check_request *question)
{
    const struct shape in = question->network->input;
    return question->samples ? PNG_WRITER + 3 * in.width * SAMPLES * in.height * 3 : 0;
}

/* Pictures while they are decoded, by the readers of one loader at a time (data_loader_pause), and
 * the list of their files. The readers are ahead and rest when the samples are written. Graphics
 * memory holds none of it. */
static uint64_t bytes_of_files(const struct memory_check_request *question)
{
    const struct data_loader_settings any = {.batch = 1};
    if (!question->driver->computes_on_host)
        return 0;
    const uint64_t training =
        data_loader_worker_count(&any, question->stored) * question->decode_bytes;
    const uint64_t validation = data_loader_worker_count(&any, question->validation_stored) *
                                question->validation_decode_bytes;
    const uint64_t most = training > validation ? training : validation;
    const uint64_t sheet = bytes_of_sheet(question);
    return (most > sheet ? most : sheet) + LISTED_FILE * (uint64_t)question->files;
}

/* Beside the weights, which training has. */
static uint64_t inference_bytes(const struct memory_check_request *question, size_t batch,
                                bool loss)
{
    struct memory_forecast memory;
    const struct plan_settings settings = {.mode = PLAN_INFERENCE,
                                           .batch = batch,
                                           .threads = question->settings->threads,
                                           .with_loss = loss};
    return memory_check_plan(question->network, question->driver, &settings, &memory, NULL)
               ? memory.total - memory.weights + memory.tables
               : 0;
}

uint64_t memory_of_validation(const struct memory_check_request *question, size_t batch)
{
    const struct data_loader_settings loader = {.batch = batch};
    const size_t values = shape_count(question->network->input);
    const size_t images = question->validation_images ? question->validation_images : SIZE_MAX;
    return batch ? inference_bytes(question, batch, true) +
                       data_loader_bytes(&loader, images, values, !question->network->classes,
                                         question->validation_stored)
                 : 0;
}

static uint64_t bytes_of_samples(const struct memory_check_request *question)
{
    const struct graph *graph = &question->network->graph;
    const size_t values =
        shape_count(question->network->input) + shape_count(graph->nodes[graph->output].output);
    return question->samples
               ? inference_bytes(question, 1, false) + SAMPLES * values * sizeof(float)
               : 0;
}

/* As evaluator_create chooses: the largest batch that leaves room for the rest. */
static uint64_t choose_validation(const struct memory_check_request *question, uint64_t room)
{
    size_t batch = question->validation;
    while (batch > 1 && memory_of_validation(question, batch) > room)
        batch /= 2;
    return memory_of_validation(question, batch);
}

uint64_t forecast_needed(const struct forecast *forecast)
{
    return forecast->memory.total + forecast->loader_bytes + forecast->other_bytes;
}

uint64_t forecast_peak(const struct forecast *forecast)
{
    return forecast->program_bytes + forecast_needed(forecast);
}

/* --- what fits --- */

/* What a batch takes at the least; UINT64_MAX: it cannot be planned. */
static uint64_t bytes_at_batch(const struct memory_check_request *question,
                               const struct forecast *forecast, size_t batch, uint64_t least)
{
    struct plan_settings smaller = *question->settings;
    struct memory_forecast memory;
    smaller.batch = batch;
    return memory_check_plan(question->network, question->driver, &smaller, &memory, NULL)
               ? memory.total + memory.tables + loader_bytes(question, forecast, batch) + least
               : UINT64_MAX;
}

static size_t find_largest_batch(const struct memory_check_request *question,
                                 const struct forecast *forecast, uint64_t least)
{
    const size_t cards = cards_of(question);
    size_t fits = 0, too_large = question->settings->batch / cards; /* of each card */
    while (too_large - fits > 1) {
        size_t middle = fits + (too_large - fits) / 2;
        if (bytes_at_batch(question, forecast, middle * cards, least) <= forecast->memory_free)
            fits = middle;
        else
            too_large = middle;
    }
    return fits * cards;
}

static void compare(const struct memory_check_request *question,
                    const struct available_memory *room, uint64_t least, struct forecast *forecast)
{
    const uint64_t needed =
        forecast->memory.total + forecast->memory.tables + forecast->loader_bytes + least;
    forecast->memory_free = leave_room(room->without_swap, question);
    forecast->memory_bound = room->bound;
    forecast->memory_limit = room->bound == BOUND_ULIMIT ? room->without_swap : 0;
    forecast->reserved_bytes = address_reserve(question->settings->threads, question->beforehand);
    forecast->fits = needed <= leave_room(room->with_swap, question);
    forecast->swaps = forecast->fits && needed > forecast->memory_free;
    if (!forecast->fits || forecast->swaps)
        forecast->largest_batch = find_largest_batch(question, forecast, least);
}

/* A device with memory of its own has nowhere to swap to; what is not known is not judged. */
static struct available_memory find_room(const struct memory_check_request *question)
{
    struct available_memory room = {.bound = BOUND_UNKNOWN};
    if (question->room)
        return *question->room;
    if (question->driver->computes_on_host)
        host_available_memory(&room);
    else if (question->device && (room.without_swap = device_memory_free(question->device)) > 0) {
        room.with_swap = room.without_swap;
        room.bound = BOUND_MACHINE;
    }
    return room;
}

void memory_check(const struct memory_check_request *question, struct forecast *forecast)
{
    const bool on_host = question->driver->computes_on_host;
    const struct available_memory room = find_room(question);
    const uint64_t always = (on_host ? question->data_bytes + question->curve_bytes : 0) +
                            bytes_of_samples(question) + bytes_of_files(question);
    forecast->loader_bytes = loader_bytes(question, forecast, question->settings->batch);
    forecast->program_bytes = on_host ? host_process_memory() + host_program_unloaded_bytes() : 0;
    forecast->fits = true;
    if (room.bound != BOUND_UNKNOWN)
        compare(question, &room, always + memory_of_validation(question, question->validation > 0),
                forecast);
    forecast->other_bytes = always + forecast->memory.tables;
    const uint64_t needed = forecast_needed(forecast);
    forecast->validation_available = forecast->memory_free == 0 ? UINT64_MAX
                                     : needed < forecast->memory_free
                                         ? forecast->memory_free - needed
                                         : 0;
    forecast->other_bytes += choose_validation(question, forecast->validation_available);
}

/* --- in words --- */

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
    text_bytes(forecast_needed(forecast), needed, sizeof needed);
    if (forecast->memory_limit && forecast->memory_free == 1)
        return error_set(error, ERROR_MEMORY, what, advice,
                         N_("it needs %s of memory and %s of addresses for its threads, and the "
                            "limit of the process leaves %s; not even one image fits"),
                         needed, text_bytes(forecast->reserved_bytes, reserved, sizeof reserved),
                         text_bytes(forecast->memory_limit, free_bytes, sizeof free_bytes));
    return error_set(
        error, ERROR_MEMORY, what, advice,
        forecast->largest_batch
            ? N_("it needs %s of memory, and %s are free for it")
            : N_("it needs %s of memory, and %s are free for it; not even one image fits"),
        needed, text_bytes(forecast->memory_free, free_bytes, sizeof free_bytes));
}

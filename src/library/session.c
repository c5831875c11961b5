/* A session: a model with an open device, a plan for a batch, and its execution. Sessions of one
 * model share its network and weights, which they only read. Work that changes these (rounding a
 * quantized network in float32, the copy of the weights in a GPU's memory) is done before another
 * session can see them, or is refused. */
#include "library/library.h"

#include "base/memory.h"
#include "engine/devices/device_buffer.h"
#include "engine/execution/execution.h"
#include "engine/quantize/simulate.h"
#include "runs/machine/autotune_file.h"
#include "runs/machine/machine_file.h"

#include <stdlib.h>
#include <string.h>

struct tinca_session {
    struct tinca_model *model;
    struct device *device;
    struct plan *plan;
    struct execution *execution;
    size_t batch;
    size_t input, output; /* values of an image and of an output */
    float *images;        /* [batch, input], aligned as kernels want it */
};

/* --- the device --- */

/* Sets the figures of the machine by which plans choose kernels: those that the program has stored,
 * or measured ones. Without any, plans follow fixed rules. Writes no file. */
static void use_figures(struct device *device, bool measures)
{
    const struct device_driver *driver = device->driver;
    if (driver->measure_machine) {
        const struct machine_key key = machine_key_here(device->threads);
        char *path = machine_file_path(NULL);
        if (!(path && machine_file_read(path, &key, &device->machine, NULL)) && measures)
            device_measure_machine(device, NULL);
        free(path);
    } else if (driver->use_autotune) {
        autotune_file_use(device, false, false, NULL);
    }
}

static bool parse_precision(const char *name, enum device_precision *precision, struct error *error)
{
    for (size_t i = 0; i < PRECISIONS; i++)
        if (strcmp(name, device_precision_names[i]) == 0) {
            *precision = (enum device_precision)i;
            return true;
        }
    return error_set(error, ERROR_USAGE, "precision", "choose float32, bf16, tf32, fp16 or int8",
                     "\"%s\" is none", name);
}

/* Sets the precision of the device, and how a quantized network is rounded. The model is locked. */
static bool set_precision(struct tinca_session *session, const char *name, struct error *error)
{
    struct tinca_model *model = session->model;
    struct model *saved = &model->saved;
    const bool quantized = graph_is_quantized(&saved->network->graph);
    const bool simulated = network_is_simulated(saved->network);
    saved->device = session->device;
    enum device_precision precision =
        simulated ? session->device->precision : model_own_precision(saved);
    if (name && !parse_precision(name, &precision, error))
        return false;
    if (quantized && precision != PRECISION_INT8 && !simulated && model->sessions > 0)
        return error_set(error, ERROR_UNSUPPORTED, model->name,
                         "open it once more for this session",
                         "another session computes it in int8");
    if (precision == PRECISION_INT8 && simulated)
        return error_set(error, ERROR_UNSUPPORTED, model->name,
                         "open it once more for this session",
                         "a session has rounded it for another precision than int8");
    return model_compute_in(saved, precision, error);
}

/* --- preparing --- */

static bool make_execution(struct tinca_session *session, const struct tinca_options *options,
                           struct error *error)
{
    struct device *device = session->device;
    struct model *saved = &session->model->saved;
    const struct plan_settings settings = {.mode = PLAN_INFERENCE,
                                           .batch = session->batch,
                                           .threads = device->threads,
                                           .strict_device = options->strict_device,
                                           .precision = device->precision,
                                           .device = device,
                                           .machine = &device->machine};
    session->plan = plan_build(&saved->network->graph, device->driver, &settings, error);
    session->execution =
        session->plan ? execution_create(session->plan, device, &saved->weights, NULL, 0, error)
                      : NULL;
    return session->execution;
}

/* Prepares the parts of a session that use or change the model, which is locked. */
static bool join_model(struct tinca_session *session, const struct tinca_options *options,
                       struct error *error)
{
    struct tinca_model *model = session->model;
    const bool copies = !session->device->driver->computes_on_host;
    if (model->copied)
        return error_set(error, ERROR_UNSUPPORTED, model->name,
                         "open it once more for this session",
                         "a session has its weights in the memory of a GPU");
    if (copies && model->sessions > 0)
        return error_set(error, ERROR_UNSUPPORTED, model->name,
                         "open it once more for this session",
                         "other sessions have its weights in the memory of the host");
    if (!set_precision(session, options->precision, error) ||
        !make_execution(session, options, error))
        return false;
    model->copied = copies;
    model->sessions++;
    return true;
}

static bool prepare(struct tinca_session *session, const struct tinca_options *options,
                    struct error *error)
{
    struct tinca_model *model = session->model;
    session->device =
        device_open(options->device ? options->device : "cpu", options->threads, error);
    if (!session->device)
        return false;
    session->device->strict = options->strict_device;
    use_figures(session->device, options->measure);
    session->images =
        memory_new_aligned(session->batch, session->input * sizeof(float), "the images", error);
    if (!session->images)
        return false;
    pthread_mutex_lock(&model->lock);
    const bool joined = join_model(session, options, error);
    model->saved.device = NULL;
    pthread_mutex_unlock(&model->lock);
    return joined;
}

/* Frees a session that may be incomplete. */
static void free_session(struct tinca_session *session, bool joined)
{
    struct tinca_model *model = session->model;
    execution_free(session->execution);
    plan_free(session->plan);
    pthread_mutex_lock(&model->lock);
    struct device_buffer *copy = model->saved.weights.buffer;
    if (copy && copy->device == session->device) {
        device_buffer_free(copy);
        model->saved.weights.buffer = NULL;
        model->copied = false;
    }
    pthread_mutex_unlock(&model->lock);
    device_close(session->device);
    free(session->images);
    free(session);
    if (joined)
        library_leave_model(model);
}

static bool are_reserved_zero(const struct tinca_options *options)
{
    for (size_t i = 0; i < sizeof options->reserved / sizeof *options->reserved; i++)
        if (options->reserved[i] != 0)
            return false;
    return true;
}

TINCA_EXPORT tinca_session *tinca_prepare(tinca_model *model, const struct tinca_options *options,
                                          struct tinca_error *out)
{
    static const struct tinca_options defaults = TINCA_OPTIONS;
    struct error error;
    options = options ? options : &defaults;
    if (!model || !are_reserved_zero(options)) {
        library_refuse(out, "tinca_prepare",
                       !model ? "the model is NULL" : "a reserved member of the options is not 0");
        return NULL;
    }
    struct tinca_session *session = memory_new(1, sizeof *session, "a session", &error);
    if (session) {
        session->model = model;
        session->batch = options->batch ? options->batch : 1;
        session->input = shape_count(model->saved.network->input);
        session->output = shape_count(model->output);
        if (prepare(session, options, &error))
            return session;
        free_session(session, false);
    }
    library_fail(out, &error);
    return NULL;
}

TINCA_EXPORT void tinca_session_close(tinca_session *session)
{
    if (session)
        free_session(session, true);
}

/* --- facts about a session --- */

TINCA_EXPORT size_t tinca_session_batch(const tinca_session *session)
{
    return session->batch;
}

TINCA_EXPORT size_t tinca_session_threads(const tinca_session *session)
{
    return session->device->threads;
}

TINCA_EXPORT const char *tinca_session_precision(const tinca_session *session)
{
    return device_precision_names[session->device->precision];
}

TINCA_EXPORT uint64_t tinca_session_memory(const tinca_session *session)
{
    const struct plan *plan = session->plan;
    return plan->arena.bytes + plan->prepared_bytes + plan->forecast.tables +
           (uint64_t)session->batch * session->input * sizeof(float);
}

/* --- running --- */

/* Computes the images, which are aligned. */
static enum tinca_status run_aligned(struct tinca_session *session, const float *images,
                                     size_t count, float *outputs, struct tinca_error *out)
{
    const struct execution_batch batch = {.images = images, .count = count};
    struct error error;
    execution_bind(session->execution, &batch);
    execution_forward(session->execution, 0);
    const float *computed = execution_output(session->execution);
    if (!device_check(session->device, &error)) {
        library_fail(out, &error);
        if (out)
            out->status = TINCA_ERROR_DEVICE;
        return TINCA_ERROR_DEVICE;
    }
    memcpy(outputs, computed, count * session->output * sizeof *outputs);
    return TINCA_OK;
}

/* Checks the arguments of a run. */
static enum tinca_status check_run(const struct tinca_session *session, const void *images,
                                   size_t count, const float *outputs, const char *function,
                                   struct tinca_error *out)
{
    if (!session || !images || !outputs)
        return library_refuse(out, function, "the session or an array is NULL");
    if (count == 0 || count > session->batch)
        return library_refuse(out, function,
                              "the number of images is 0, or above the batch of the session");
    return TINCA_OK;
}

TINCA_EXPORT enum tinca_status tinca_run(tinca_session *session, const float *images, size_t count,
                                         float *outputs, struct tinca_error *out)
{
    const enum tinca_status status = check_run(session, images, count, outputs, "tinca_run", out);
    if (status != TINCA_OK)
        return status;
    if ((uintptr_t)images % MEMORY_ALIGNMENT != 0) {
        memcpy(session->images, images, count * session->input * sizeof *images);
        images = session->images;
    }
    return run_aligned(session, images, count, outputs, out);
}

TINCA_EXPORT enum tinca_status tinca_run_pictures(tinca_session *session, const uint8_t *pictures,
                                                  size_t count, size_t height, size_t width,
                                                  size_t channels, float *outputs,
                                                  struct tinca_error *out)
{
    enum tinca_status status =
        check_run(session, pictures, count, outputs, "tinca_run_pictures", out);
    for (size_t i = 0; status == TINCA_OK && i < count; i++)
        status = tinca_model_fit_picture(session->model, pictures + i * height * width * channels,
                                         height, width, channels,
                                         session->images + i * session->input, out);
    return status == TINCA_OK ? run_aligned(session, session->images, count, outputs, out) : status;
}

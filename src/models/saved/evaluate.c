/* Loads model files, evaluates them on data sets through the evaluator, and predicts single images
 * with a plan for one image that is built when it is first needed. */
#include "models/saved/evaluate.h"

#include "base/host/host.h"
#include "base/host/memory_room.h"
#include "base/memory.h"
#include "data/formats/image_file.h"
#include "data/loader/augment.h"
#include "models/saved/class_match.h"
#include "models/saved/evaluator.h"
#include "models/saved/internal.h"
#include "models/saved/model_file.h"
#include "runs/folder/computed_with.h"
#include "runs/machine/tuned_device.h"
#include "runs/settings/config.h"
#include "runs/settings/settings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- memory --- */

/* Returns the bytes of a plan for one image, without the weights; 0 if the device has memory of its
 * own, or if it cannot be planned, which is found out when it is needed. */
static uint64_t plan_bytes(const struct model *model)
{
    const struct device *device = model->device;
    const struct plan_settings settings = {.mode = PLAN_INFERENCE,
                                           .batch = 1,
                                           .threads = device->threads,
                                           .precision = device->precision,
                                           .machine = &device->machine,
                                           .choices = device->choices,
                                           .only_forecast = true};
    if (!device->driver->computes_on_host)
        return 0;
    struct plan *plan = plan_build(&model->network->graph, device->driver, &settings, NULL);
    const uint64_t bytes = plan ? plan_bytes_beside_weights(plan) : 0;
    plan_free(plan);
    return bytes;
}

/* Returns the bytes of addresses that all models of the process reserve together: OpenBLAS's
 * buffers serve whichever threads compute. */
static uint64_t reserved_bytes(const struct device *device)
{
    return device->driver->computes_on_host ? memory_room_reserve(device->threads, false) : 0;
}

bool model_check_memory(const struct network *network, const struct model_use *use,
                        const char *path, struct error *error)
{
    const uint64_t weights = (uint64_t)network->graph.total_floats * sizeof(float);
    const uint64_t more = use->more ? use->more(network, use->context) : 0;
    return memory_room_check(path, (1 + use->copies) * weights + use->bytes + more, error);
}

/* --- loading --- */

bool model_load(struct model *model, const char *path, const char *device, size_t threads,
                struct error *error)
{
    return model_load_for(model, path, device, threads, &(struct model_use){0}, error);
}

bool model_load_for(struct model *model, const char *path, const char *device, size_t threads,
                    const struct model_use *use, struct error *error)
{
    struct run_config defaults;
    struct model_use all = *use;
    config_defaults(&defaults);
    *model = (struct model){.tolerance = (double)defaults.tolerance};
    bool loaded = model_file_describe(model, path, error) &&
                  (model->device = tuned_device_open(device, threads, NULL, error)) &&
                  model_compute_in(model, model_own_precision(model), error);
    all.copies += all.models;
    if (loaded)
        all.bytes += (1 + all.models) * plan_bytes(model) + reserved_bytes(model->device);
    loaded = loaded && model_check_memory(model->network, &all, path, error) &&
             weights_create(&model->weights, &model->network->graph, error) &&
             weights_load(&model->weights, path, error);
    if (!loaded)
        model_free(model);
    return loaded;
}

bool model_set_precision(struct model *model, const struct run_config *config, struct error *error)
{
    return !config_is_given(config, KEY(precision)) ||
           model_compute_in(model, (enum device_precision)machine_settings(config).precision,
                            error);
}

void translator_free(struct translator *translator)
{
    if (!translator)
        return;
    execution_free(translator->execution);
    plan_free(translator->plan);
    network_free(translator->network);
    free(translator);
}

void model_free(struct model *model)
{
    translator_free(model->translator);
    execution_free(model->execution);
    plan_free(model->plan);
    weights_free(&model->weights);
    device_close(model->device);
    network_free(model->network);
    free(model->class_names);
    free(model->chosen);
    *model = (struct model){0};
}

/* --- a data set --- */

struct telling {
    const struct evaluation_request *request;
    uint64_t of;
};

static bool tell_progress(void *context, uint64_t done, struct error *error)
{
    const struct telling *telling = context;
    return telling->request->progress(telling->request->context, done, telling->of, error);
}

/* Records the kernels of the evaluation. */
static bool record_kernels(struct model *model, const struct plan *plan, struct error *error)
{
    free(model->chosen);
    model->chosen = kernel_choices_text(plan, error);
    return model->chosen;
}

bool model_evaluate_set(struct model *model, const struct dataset *dataset,
                        const struct evaluation_request *request, struct evaluation *evaluation,
                        struct error *error)
{
    struct evaluator_settings settings = {.network = model->network,
                                          .weights = &model->weights,
                                          .device = model->device,
                                          .dataset = dataset,
                                          .normalisation = &model->preprocessing.normalisation,
                                          .batch = request->batch,
                                          .tolerance = model->tolerance,
                                          .memory_free =
                                              model->device->driver->computes_on_host
                                                  ? host_available_bytes()
                                                  : device_memory_free(model->device->name),
                                          .images = request->images,
                                          .warm_up = request->timed,
                                          .readers = request->readers,
                                          .watch = request->watch,
                                          .watcher = request->context};
    const size_t images = dataset_facts(dataset)->images;
    struct telling telling = {request, request->images && request->images < images ? request->images
                                                                                   : images};
    struct evaluator evaluator = {0};
    bool evaluated = evaluator_create(&evaluator, &settings, error) &&
                     record_kernels(model, evaluator.plan, error) &&
                     evaluator_run(&evaluator, request->progress ? tell_progress : NULL, &telling,
                                   evaluation, error);
    if (evaluated && request->times) {
        *request->times = evaluator.times;
        *request->time_count = evaluator.batches;
        evaluator.times = NULL;
    }
    evaluator_free(&evaluator);
    return evaluated;
}

struct dataset *model_open_set(struct model *model, const char *data_spec, struct error *error)
{
    const struct shape input = model->network->input;
    const struct dataset_request wish = {input.channels, input.height, input.width};
    struct dataset *dataset =
        dataset_open_as(data_spec, "test", &wish, &model->preprocessing, error);
    if (!dataset || class_match_model(model, dataset, error))
        return dataset;
    dataset_free(dataset);
    return NULL;
}

static bool evaluate_spec(struct model *model, const char *data_spec,
                          const struct evaluation_request *request, struct evaluation *evaluation,
                          struct error *error)
{
    struct dataset *dataset = model_open_set(model, data_spec, error);
    bool evaluated = dataset && model_evaluate_set(model, dataset, request, evaluation, error);
    dataset_free(dataset);
    return evaluated;
}

bool model_evaluate(struct model *model, const char *data_spec, size_t batch,
                    struct evaluation *evaluation, struct error *error)
{
    const struct evaluation_request request = {.batch = batch, .timed = true};
    return evaluate_spec(model, data_spec, &request, evaluation, error);
}

bool model_measure(struct model *model, const char *data_spec,
                   const struct evaluation_request *request, struct evaluation *evaluation,
                   struct error *error)
{
    struct evaluation_request single = *request;
    single.batch = 1;
    single.timed = true;
    return evaluate_spec(model, data_spec, &single, evaluation, error);
}

/* --- one image --- */

static bool make_execution(struct model *model, struct error *error)
{
    struct plan_settings settings = {.mode = PLAN_INFERENCE,
                                     .batch = 1,
                                     .threads = model->device->threads,
                                     .strict_device = model->device->strict,
                                     .precision = model->device->precision,
                                     .device = model->device,
                                     .machine = &model->device->machine,
                                     .choices = model->device->choices};
    if (!model->plan)
        model->plan = plan_build(&model->network->graph, model->device->driver, &settings, error);
    if (model->plan && !model->execution)
        model->execution =
            execution_create(model->plan, model->device, &model->weights, NULL, 0, error);
    return model->execution;
}

const float *model_infer(struct model *model, const float *input, uint64_t number,
                         struct error *error)
{
    struct execution_batch batch = {.images = input, .count = 1};
    if (!make_execution(model, error))
        return NULL;
    execution_bind(model->execution, &batch);
    execution_forward(model->execution, number);
    const float *output = execution_output(model->execution);
    return device_check(model->device, error) ? output : NULL;
}

/* Reads a picture as the images of a data set are read: turned, resized, the middle cut out,
 * normalised. */
bool model_read_image(const struct model *model, const char *path, float *values,
                      struct error *error)
{
    const struct shape input = model->network->input;
    struct sample_table table;
    struct image image = {0};
    if (!image_file_prepare(&image, path, &model->preprocessing, error))
        return false;
    const struct crop crop = crop_centre(&image, input.width, input.height);
    sample_table_fill(&table, &model->preprocessing.normalisation);
    crop_write(values, &image, &crop, &table);
    image_free(&image);
    return true;
}

bool model_choose_top(const float *logits, size_t classes, size_t top,
                      struct prediction *predictions)
{
    size_t chosen = 0;
    if (!ranking_exists(logits, classes))
        return false;
    const struct class_shares shares = ranking_shares(logits, classes);
    for (size_t c = 0; c < classes; c++) {
        const struct prediction prediction = {c, (float)ranking_share(&shares, logits[c])};
        size_t place = chosen;
        while (place > 0 && logits[predictions[place - 1].label] < logits[c])
            place--;
        if (place >= top)
            continue;
        size_t moved = (chosen < top ? chosen : top - 1) - place;
        memmove(predictions + place + 1, predictions + place, moved * sizeof *predictions);
        predictions[place] = prediction;
        chosen += chosen < top;
    }
    return true;
}

bool model_predict(struct model *model, const char *image_path, size_t top,
                   struct prediction *predictions, struct error *error)
{
    size_t classes = model->network->classes;
    if (classes == 0)
        return error_set(error, ERROR_UNSUPPORTED, model->network->name, NULL,
                         "this network makes pictures and predicts no classes");
    if (top == 0 || top > classes)
        return error_set(error, ERROR_USAGE, "--top", NULL, "the model predicts 1 to %zu classes",
                         classes);
    float *input =
        memory_new_aligned(shape_count(model->network->input), sizeof *input, "an image", error);
    bool predicted =
        input && make_execution(model, error) && model_read_image(model, image_path, input, error);
    const float *logits = predicted ? model_infer(model, input, 0, error) : NULL;
    predicted = logits && (model_choose_top(logits, classes, top, predictions) ||
                           error_set(error, ERROR_INPUT, model->network->name,
                                     "train it anew, from finite weights",
                                     "its output is NaN: it predicts no class"));
    free(input);
    return predicted;
}

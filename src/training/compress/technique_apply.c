/* Each technique is a function of the model's file, the settings and the watch. */
#include "training/compress/technique.h"

#include "base/files/file.h"
#include "base/text.h"
#include "engine/network/network_compression.h"
#include "engine/network/network_write.h"
#include "models/list/model_list.h"
#include "models/saved/model_file.h"
#include "models/saved/model_output.h"
#include "runs/settings/config_data.h"
#include "runs/settings/settings.h"
#include "training/compress/factorize_model.h"
#include "training/compress/prune.h"
#include "training/compress/quantize_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* --- half precision --- */

/* Returns the network under its new name; NULL with an error. */
static struct network *rename_network(const struct network *network, enum weights_format format,
                                      struct error *error)
{
    char step[32];
    struct json *root = network_to_json(network);
    struct network *renamed = NULL;
    snprintf(step, sizeof step, "half:%s", weights_format_names[format]);
    if (!root)
        error_set_memory(error, "a network", 0);
    else if (compression_append(root, step, error))
        renamed = network_from_json(root, error);
    json_free(root);
    return renamed;
}

bool half_model_save(const char *path, enum weights_format format, const char *output,
                     struct error *error)
{
    struct model model = {0};
    if (format == WEIGHTS_FLOAT32)
        return error_set(error, ERROR_USAGE, OPTION(save_precision), "give bf16 or float16",
                         "half precision has 16 bits");
    bool saved = model_output_is_other(path, output, error) &&
                 model_file_describe(&model, path, error) &&
                 model_check_memory(model.network, &(struct model_use){0}, path, error) &&
                 weights_create(&model.weights, &model.network->graph, error) &&
                 weights_load(&model.weights, path, error);
    struct network *renamed = saved ? rename_network(model.network, format, error) : NULL;
    saved = renamed && model_save_derived(&model, renamed, &model.weights, format, output, error);
    network_free(renamed);
    model_free(&model);
    return saved;
}

/* --- applying --- */

/* Adds the output to the list of models. A failure is ignored, since the step is complete without
 * it, too. */
static void list_model(const struct technique_target *target, const char *data)
{
    struct error ignored;
    model_list_add(target->output, data, &ignored);
}

static bool apply_quantize(const char *argument, const struct technique_target *target,
                           const struct technique_watch *watch, struct error *error)
{
    char data[CONFIG_SPEC], validate[CONFIG_SPEC];
    const struct run_config *settings = target->settings;
    struct quantize_result result = {0};
    struct quantize_request request = {
        .model = target->input,
        .output = target->output,
        .calibrate = config_training_spec(settings, data),
        .data = config_validation_spec(settings, validate),
        .keep = "",
        .images = QUANTIZE_IMAGES,
        .method = (enum calibration_method)technique_choice(argument, calibration_method_names,
                                                            CALIBRATION_PERCENTILE),
        .max_loss = QUANTIZE_MAX_LOSS,
        .seed = training_settings(settings).seed,
        .config = *settings};
    config_forget(&request.config, KEY(epochs)); /* the step does not train */
    const bool made = quantize_model(&request, watch, &result, error);
    if (made)
        list_model(target, request.data[0] ? request.data : request.calibrate);
    quantize_result_free(&result);
    return made;
}

/* Sets the smallest weights to zero. */
static bool apply_zeros(double share, const struct technique_target *target,
                        const struct technique_watch *watch, struct error *error)
{
    char spec[CONFIG_SPEC];
    struct magnitude_result result;
    const struct machine_settings machine = machine_settings(target->settings);
    const struct magnitude_request request = {.model = target->input,
                                              .output = target->output,
                                              .share = share,
                                              .device = machine.device,
                                              .threads = machine.threads,
                                              .validate =
                                                  config_validation_spec(target->settings, spec)};
    return magnitude_run(&request, watch, &result, error);
}

static bool apply_prune(const char *argument, const struct technique_target *target,
                        const struct technique_watch *watch, struct error *error)
{
    static const enum prune_goal goals[] = {[TECHNIQUE_PLAIN] = GOAL_FLOPS,
                                            [TECHNIQUE_PARAMETERS] = GOAL_PARAMETERS,
                                            [TECHNIQUE_TIME] = GOAL_LATENCY};
    double value;
    const enum technique_goal goal = technique_goal_of(argument, &value);
    if (goal == TECHNIQUE_ZEROS)
        return apply_zeros(value, target, watch, error);
    struct prune_result *result = malloc(sizeof *result);
    const struct prune_request request = {.model = target->input,
                                          .output = target->output,
                                          .criterion = CRITERION_L1,
                                          .goal = goals[goal],
                                          .target = value,
                                          .steps = 1,
                                          .batches = PRUNE_BATCHES,
                                          .keep = "",
                                          .replaces = true,
                                          .config = *target->settings};
    bool pruned = result || error_set_memory(error, "the result", sizeof *result);
    pruned = pruned && prune_run(&request, watch, result, error);
    if (pruned)
        prune_result_free(result);
    free(result);
    return pruned;
}

static bool apply_factorize(const char *argument, const struct technique_target *target,
                            const struct technique_watch *watch, struct error *error)
{
    static const enum factorize_target targets[] = {[TECHNIQUE_PLAIN] = FACTORIZE_ENERGY,
                                                    [TECHNIQUE_PARAMETERS] = FACTORIZE_PARAMETERS,
                                                    [TECHNIQUE_TIME] = FACTORIZE_LATENCY};
    struct factorized_model made;
    struct factorize_request request = {
        .model = target->input,
        .output = target->output,
        .settings = {.convolutions = CONVOLUTIONS_SPATIAL, .linear = true},
        .value = FACTORIZE_USUAL_ENERGY,
        .replaces = true,
        .config = *target->settings};
    if (argument[0])
        request.target = targets[technique_goal_of(argument, &request.value)];
    if (!factorize_model(&request, watch, &made, error))
        return false;
    factorized_model_free(&made);
    return true;
}

/* Trains the model on, for one epoch unless the settings say how long; `teacher` may be NULL. */
static bool train_on(const char *tag, const char *teacher, const struct technique_target *target,
                     const struct technique_watch *watch, struct error *error)
{
    char run[FINE_TUNE_RUN];
    struct run_config config = *target->settings;
    const struct fine_tuning tuning = {
        .settings = &config, .model = target->input, .tag = tag, .output = target->output};
    return (fine_tune_is_wanted(&config) || config_set(&config, KEY(epochs), "1", error)) &&
           (!teacher || config_set(&config, KEY(teacher), teacher, error)) &&
           fine_tune_file(&tuning, watch, run, error);
}

static bool apply_distill(const char *argument, const struct technique_target *target,
                          const struct technique_watch *watch, struct error *error)
{
    return train_on("distill", argument, target, watch, error);
}

static bool apply_tune(const char *argument, const struct technique_target *target,
                       const struct technique_watch *watch, struct error *error)
{
    (void)argument;
    return train_on("tune", NULL, target, watch, error);
}

static bool apply_half(const char *argument, const struct technique_target *target,
                       const struct technique_watch *watch, struct error *error)
{
    const size_t format = technique_choice(argument, weights_format_names, WEIGHTS_FLOAT16);
    (void)watch; /* it takes too little time to be watched */
    return half_model_save(target->input, (enum weights_format)format, target->output, error);
}

/* --- a step --- */

static const struct applier {
    const char *name;
    bool lists; /* the list of models gets its result, with the validation data */
    bool (*apply)(const char *argument, const struct technique_target *target,
                  const struct technique_watch *watch, struct error *error);
} appliers[] = {
#define TECHNIQUE(name, need, argument, trains, needs_data, lists) {#name, lists, apply_##name},
#include "training/compress/techniques.inc"
#undef TECHNIQUE
};

/* Returns the row that applies a step and sets *argument, "" if it has none; NULL if there is no
 * such kind. */
static const struct applier *applier_of(const char *step, const char **argument)
{
    for (size_t i = 0; i < sizeof appliers / sizeof *appliers; i++)
        if (technique_step_is(step, appliers[i].name, argument))
            return &appliers[i];
    return NULL;
}

/* Deletes leftovers of a process that was killed just after `output` was complete. */
static void remove_leftovers(const char *output)
{
    static const char *const endings[] = {FINE_TUNE_NOTE, FACTORIZE_UNTRAINED};
    prune_remove_leftovers(output);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        struct text path = {0};
        text_append(&path, "%s%s", output, endings[i]);
        if (!path.failed)
            unlink(path.data);
        text_free(&path);
    }
}

bool technique_apply(const char *step, const struct technique_target *target,
                     const struct technique_watch *watch, struct error *error)
{
    char spec[CONFIG_SPEC];
    const char *argument;
    const struct applier *applier = applier_of(step, &argument);
    if (file_exists(target->output)) {
        remove_leftovers(target->output);
        return true;
    }
    if (!applier)
        return error_set(error, ERROR_USAGE, step, NULL,
                         "there is no such technique after training");
    if (!applier->apply(argument, target, watch, error))
        return false;
    if (applier->lists)
        list_model(target, config_validation_spec(target->settings, spec));
    return true;
}

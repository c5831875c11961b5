/* Adds the findings of a run: about its data and its weights when it begins, about losses and
 * validations (watcher.h), about a loss that is scaled in float16, and about work that the device
 * or the ranks refuse. */
#include "training/observer.h"

#include "engine/ops/class_outputs.h"
#include "runs/findings/overfitting.h"
#include "runs/settings/config_data.h"
#include "runs/settings/config_paths.h"

#include <stdio.h>
#include <string.h>

struct findings {
    struct watcher watcher;
    struct lowest_losses lowest; /* a resumed run has none until its loss is the lowest again */
    bool recording_refused;      /* the finding FINDING_GRAPH has been added */
    size_t refusals_reported;    /* findings FINDING_CUDNN */
    bool sharing_reported;       /* a finding says that the ranks cannot share memory */
    bool skip_reported;          /* the finding FINDING_LOSS_SCALE has been added */
    bool low_scale_reported;     /* the same, for a scale below 1 */
};

/* --- when the run begins --- */

/* Adds a finding if the forecast says that the run will swap; and one that names the layers without
 * a kernel of the device, and the cost of the copies. */
static void note_forecast(struct trainer *trainer)
{
    char text[FINDING_SIZE];
    const struct forecast *forecast = &trainer->prepared.forecast;
    forecast_swap_text(forecast, trainer->settings.training.batch, text, sizeof text);
    if (forecast->swaps)
        trainer_note(trainer, FINDING_MEMORY, "%s", text);
    forecast_fallback_text(&forecast->memory, text, sizeof text);
    if (text[0])
        trainer_note(trainer, FINDING_FALLBACK, "%s", text);
}

/* Adds a finding if the first images of a set, which limit= takes, lack some of its classes. */
static void note_limit(struct trainer *trainer, const struct dataset *dataset)
{
    const struct dataset_facts *facts = dataset ? dataset_facts(dataset) : NULL;
    struct finding finding = {.kind = FINDING_DATA};
    if (!facts || facts->classes_left_out == 0)
        return;
    snprintf(
        finding.text, sizeof finding.text,
        "%.100s leaves out %zu classes: limit= takes the first images; sample= draws images of "
        "all classes",
        facts->spec, facts->classes_left_out);
    trainer_add_finding(trainer, &finding);
}

/* Adds a finding if images of the test set were used for training or to choose the best model. */
static void note_overlap(struct trainer *trainer)
{
    char spec[CONFIG_SPEC];
    const struct run_config *config = &trainer->run->config;
    const enum config_overlap overlap = config_test_overlap(config);
    if (overlap == OVERLAP_NONE || !trainer->prepared.test)
        return;
    trainer_note(trainer, FINDING_DATA,
                 overlap == OVERLAP_TRAINING
                     ? "the test set %.100s has images that are trained on: what the model reaches "
                       "on it says little about others"
                     : "the test set %.100s has images of the validation, which choose the best "
                       "model: what that reaches on them is a little too good",
                 config_test_spec(config, spec));
}

/* Adds a finding that names the images on which the normalisation was measured, unless these are
 * all. */
static void note_measured(struct trainer *trainer)
{
    const struct normalisation *n = &trainer->prepared.preprocessing.normalisation;
    const bool of_model = trainer->prepared.follows && !trainer->prepared.from.recorded;
    if (of_model || n->measured == n->measured_of)
        return;
    if (n->drawn)
        trainer_note(
            trainer, FINDING_DATA,
            "mean and deviation are those of %zu of the %zu images, drawn by the seed %llu",
            n->measured, n->measured_of, (unsigned long long)n->seed);
    else
        trainer_note(trainer, FINDING_DATA,
                     "mean and deviation are those of the %zu of %zu images that could be read",
                     n->measured, n->measured_of);
}

/* Adds a finding if the run prepares pictures differently from the model that it follows, because
 * its settings or its data say so; or as the file of its weights does, if that has another network.
 */
static void note_preprocessing(struct trainer *trainer)
{
    const struct preparation *prepared = &trainer->prepared;
    const struct preprocessing *own = &prepared->preprocessing, *model = &prepared->from.model;
    const bool fixed = dataset_facts(prepared->data)->fixed;
    const char *path = prepared->from.path;
    char name[512], by[96], here[96];
    if (method_is_distilled(&prepared->method) || !path[0])
        return;
    config_short_value(KEY(weights), path, name, sizeof name);
    run_preprocessing_words(model, fixed, by, sizeof by);
    if (!run_preprocessing_same(model, own, fixed))
        trainer_note(trainer, FINDING_DATA,
                     "%.80s was trained on pictures that are prepared by %s; this run prepares "
                     "them otherwise, by %s",
                     name, by, run_preprocessing_words(own, fixed, here, sizeof here));
    else if (strcmp(path, trainer->settings.training.weights) == 0 &&
             strcmp(path, trainer->settings.network.network) != 0)
        trainer_note(trainer, FINDING_DATA, "pictures are prepared as by %.80s: %s", name, by);
}

/* Adds a finding that says which part of the file of weights was used. */
static void note_weights(struct trainer *trainer)
{
    const struct weights_match *match = &trainer->prepared.match;
    const char *weights = trainer->settings.training.weights;
    char path[512], unused[224] = "";
    if (match->loaded + match->reset == 0 || !weights[0])
        return;
    if (match->unused)
        snprintf(unused, sizeof unused, "; %zu of the file are unused, such as %s", match->unused,
                 match->example);
    trainer_note(trainer, FINDING_WEIGHTS,
                 "the run begins with %zu arrays of %.80s%s%s; %zu begin anew%.60s", match->loaded,
                 config_short_value(KEY(weights), weights, path, sizeof path),
                 match->names[0] ? ", whose names it translates by the mapping " : "", match->names,
                 match->reset, unused);
}

/* Adds a finding that names the layers that were initialised for the classes of the data, or
 * because the user asked for it. Layers that have the values of a file were not. */
static void note_outputs(struct trainer *trainer)
{
    const struct preparation *prepared = &trainer->prepared;
    const struct network *network = prepared->network;
    const bool read = prepared->match.loaded + prepared->match.reset > 0;
    const size_t before = read ? prepared->match.outputs : network->remade;
    char names[192];
    if (before == 0)
        return;
    graph_output_names(&network->graph, names, sizeof names);
    if (before == network->classes)
        trainer_note(trainer, FINDING_WEIGHTS,
                     "the output layers (%s) begin anew, with %zu outputs as before", names,
                     before);
    else
        trainer_note(trainer, FINDING_WEIGHTS,
                     "the output layers (%s) are made anew: %zu outputs, for the classes of the "
                     "data, instead of %zu",
                     names, network->classes, before);
}

/* Adds a finding that says how the outputs of the file were matched with the data's classes: by
 * their names, or by their numbers although the names differ. */
static void note_order(struct trainer *trainer)
{
    const enum class_order order = trainer->prepared.order;
    if (order != CLASS_ORDER_SAME)
        trainer_note(trainer, FINDING_WEIGHTS,
                     order == CLASS_ORDER_OTHER
                         ? "the outputs were put into the order of the data's classes, by their "
                           "names"
                         : "the classes of the data have other names than those of the weights: "
                           "each takes the output of its number");
}

static void begin(void *state, struct trainer *trainer)
{
    const bool is_new = trainer->moment.iteration == 0;
    (void)state;
    note_weights(trainer);
    if (is_new) {
        note_measured(trainer);
        note_preprocessing(trainer);
        note_outputs(trainer);
        note_order(trainer);
    }
    note_limit(trainer, trainer->prepared.data);
    note_limit(trainer, trainer->prepared.validation);
    note_limit(trainer, trainer->prepared.test);
    if (is_new)
        note_overlap(trainer);
    note_forecast(trainer);
}

/* --- refused work --- */

/* Adds a finding, once, if the device refused to record passes: of training, of a validation, or of
 * the teacher. */
static void note_recording_refusal(struct findings *findings, struct trainer *trainer)
{
    const struct recording_refusals refusals = prepare_recording_refusals(&trainer->prepared);
    if (refusals.captures == 0 || findings->recording_refused)
        return;
    findings->recording_refused = true;
    trainer_note(trainer, FINDING_GRAPH,
                 "the driver refused to record a pass as a CUDA graph (%s): each kernel is "
                 "launched by itself, which takes longer with small layers",
                 refusals.why);
}

/* Adds a finding for each pass of a layer that cuDNN has refused to compute. */
static void note_refused_calls(struct findings *findings, struct trainer *trainer)
{
    struct device_refusal refusal;
    while (device_refused_call(trainer->prepared.device, findings->refusals_reported, &refusal)) {
        findings->refusals_reported++;
        trainer_note(trainer, FINDING_CUDNN,
                     "%.50s: cuDNN refused %s (%.120s): %s computes it, which may take longer",
                     refusal.layer, refusal.pass, refusal.why, refusal.kernel);
    }
}

/* Adds a finding, once, if the ranks are on one host, but could not get shared memory. */
static void note_sharing_failure(struct findings *findings, struct trainer *trainer)
{
    const struct cluster *cluster = trainer->run->cluster;
    if (!cluster || findings->sharing_reported || trainer->settings.machine.on_gpu ||
        !cluster_sharing_failure(cluster)[0])
        return; /* NCCL moves the values of GPUs */
    findings->sharing_reported = true;
    trainer_note(trainer, FINDING_SCALING,
                 "MPI moves the values between the ranks, which takes longer than shared memory: "
                 "%.180s",
                 cluster_sharing_failure(cluster));
}

/* --- the scale of the loss, in float16 --- */

/* Takes a scale that has changed into the snapshot and the journal. */
static void note_loss_scale(struct trainer *trainer, const struct loss_scale *scale)
{
    struct run_snapshot *now = &trainer->now;
    if (now->loss_scale == (double)scale->scale && now->skipped_steps == scale->skipped)
        return;
    now->loss_scale = (double)scale->scale;
    now->skipped_steps = scale->skipped;
    struct json *event = json_new_object();
    if (json_add_string(event, "event", "loss-scale") &&
        json_add_count(event, "iteration", trainer->moment.iteration) &&
        json_add_number(event, "scale", now->loss_scale) &&
        json_add_count(event, "skipped", now->skipped_steps))
        journal_add_event(&trainer->run->journal, "loss-scale", event);
    else
        json_free(event);
}

/* Adds a finding, once, if a step was skipped because a gradient overflowed; and one, once, if the
 * scale is below 1: then gradients overflow although nothing magnifies them, and small ones are
 * lost. */
static void note_overflow(struct findings *findings, struct trainer *trainer,
                          const struct loss_scale *scale)
{
    if (scale->skipped > 0 && !findings->skip_reported) {
        findings->skip_reported = true;
        trainer_note(trainer, FINDING_LOSS_SCALE,
                     "a gradient overflowed in fp16: the step was skipped, and the loss is scaled "
                     "by %g from now on; further steps that are skipped are only counted (the run "
                     "screen shows them)",
                     (double)scale->scale);
    }
    if (!(scale->scale > 0) || scale->scale >= 1 || findings->low_scale_reported)
        return;
    findings->low_scale_reported = true;
    trainer_note(trainer, FINDING_LOSS_SCALE,
                 "the loss is scaled by %g, which is below 1: gradients overflow in fp16 without "
                 "any magnification (%llu steps skipped), and small ones become 0; lower the "
                 "learning rate, check the data, or train in bf16 or tf32",
                 (double)scale->scale, (unsigned long long)scale->skipped);
}

static void restore(void *state, struct trainer *trainer)
{
    struct findings *findings = state;
    const struct loss_scale *scale = &trainer->resumption.counters.loss_scales[0];
    findings->skip_reported = scale->skipped > 0;
    findings->low_scale_reported = scale->scale < 1;
}

/* --- while the run trains --- */

/* Does not wait for the last step, so that a skipped step counts one iteration later. */
static void after_iteration(void *state, struct trainer *trainer, struct iteration *iteration)
{
    struct finding finding;
    struct findings *findings = state;
    const struct loss_scale scale = execution_last_loss_scale(trainer_execution(trainer));
    if (watcher_loss(&findings->watcher, trainer->moment, iteration->point.loss, &trainer->meter,
                     &finding))
        trainer_add_finding(trainer, &finding);
    note_loss_scale(trainer, &scale);
    if (iteration->diverged)
        return;
    note_recording_refusal(findings, trainer);
    note_refused_calls(findings, trainer);
    note_sharing_failure(findings, trainer);
    note_overflow(findings, trainer, &scale);
}

static void after_validation(void *state, struct trainer *trainer,
                             const struct evaluation *evaluation,
                             const struct series_validation *row)
{
    struct finding finding;
    struct findings *findings = state;
    const struct series *series = &trainer->run->own_series;
    const double image_error = lowest_losses_compare(
        &findings->lowest, series, trainer->prepared.evaluator.losses, evaluation->images);
    (void)row;
    if (watcher_validation(&findings->watcher, trainer->moment, series, image_error, &finding))
        trainer_add_finding(trainer, &finding);
}

/* --- when it ends --- */

/* Waits, in float16, for the last step, and records it if it was skipped. */
static void trained(void *state, struct trainer *trainer)
{
    const struct loss_scale scale = execution_loss_scale(trainer_execution(trainer));
    note_loss_scale(trainer, &scale);
    note_overflow(state, trainer, &scale);
}

/* Adds a finding with the number of CUDA graphs that the driver refused, if it did. */
static void end(void *state, struct trainer *trainer, enum run_status status, bool writes)
{
    const struct recording_refusals refusals =
        writes ? prepare_recording_refusals(&trainer->prepared) : (struct recording_refusals){0};
    (void)status;
    if (!writes)
        return;
    note_recording_refusal(state, trainer);
    note_refused_calls(state, trainer);
    if (refusals.captures > 0)
        trainer_note(trainer, FINDING_GRAPH,
                     "CUDA graphs that the driver refused: %llu; passes of full batches that "
                     "therefore ran without one: %llu",
                     (unsigned long long)refusals.captures, (unsigned long long)refusals.passes);
}

static void close_findings(void *state, struct trainer *trainer)
{
    struct findings *findings = state;
    (void)trainer;
    lowest_losses_free(&findings->lowest);
}

static const struct saved_number numbers[] = {
    SAVED(REAL, "watcher.largest_loss", struct findings, watcher.largest_loss),
    SAVED(FLAG, "watcher.negative", struct findings, watcher.negative_reported),
    SAVED(FLAG, "watcher.residue", struct findings, watcher.residue_reported),
    SAVED(FLAG, "watcher.overfitting", struct findings, watcher.overfitting_reported),
    SAVED(FLAG, "watcher.validation", struct findings, watcher.validation_reported),
    {0}};

const struct observer observer_findings = {.name = "findings",
                                           .state_bytes = sizeof(struct findings),
                                           .numbers = numbers,
                                           .restore = restore,
                                           .begin = begin,
                                           .after_iteration = after_iteration,
                                           .after_validation = after_validation,
                                           .trained = trained,
                                           .end = end,
                                           .close = close_findings};

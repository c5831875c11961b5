/* The criterion taylor takes gradients of the saved model, from the batches of a training that
 * updates nothing. The bisection needs only a few probes. An accepted share takes at most the
 * wanted time in two measurements, since a single one may be short by chance. */
#include "training/compress/internal.h"

#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/language.h"
#include "base/memory.h"
#include "engine/compress/prune_network.h"
#include "engine/graph/name_pattern.h"
#include "engine/ops/op.h"
#include "models/measure/inference_time.h"
#include "models/saved/model_file.h"
#include "models/saved/model_output.h"
#include "runs/record/run_open.h"
#include "runs/settings/config_data.h"
#include "runs/settings/settings.h"
#include "training/compress/prune.h"
#include "training/prepare/prepare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PROBES = 8 };

/* --- gradients --- */

/* Sets up a training of `request->batches` iterations that begins with the model: with the settings
 * of a rate search, which affect the gradients of a batch, and without the images that are held
 * out. */
static bool make_config(struct run_config *config, const char *path,
                        const struct prune_request *request, struct error *error)
{
    char spec[CONFIG_SPEC], batches[24];
    config_defaults(config);
    config_take(config, &request->config, TASK_FIND_RATE);
    config_training_spec(&request->config, spec);
    snprintf(batches, sizeof batches, "%zu", request->batches);
    return config_set(config, KEY(network), path, error) &&
           config_set(config, KEY(weights), path, error) &&
           config_set(config, KEY(data), spec, error) &&
           config_set(config, KEY(iterations), batches, error) && config_check(config, error);
}

/* Adds the values of the next batch. */
static bool add_batch(struct preparation *prepared, const struct channel_groups *groups, uint64_t i,
                      double *sums, struct error *error)
{
    struct data_batch batch;
    if (!data_loader_next(prepared->loader, &batch, error))
        return false;
    const struct execution_batch bound = prepare_batch(prepared, &batch);
    struct execution *execution = method_execution(&prepared->method);
    execution_bind(execution, &bound);
    execution_forward(execution, i);
    execution_backward(execution);
    execution_wait(execution);
    if (!device_check(prepared->device, error))
        return false;
    const float *gradients = execution_parameter_gradients(execution);
    if (!gradients)
        return error_set_memory(error, "the gradients", 0);
    return channel_importance_add_taylor(groups, prepared->weights.values, gradients, sums, error);
}

static bool add_batches(struct preparation *prepared, const struct prune_subject *subject,
                        const struct prune_request *request, const struct technique_watch *watch,
                        double *sums, struct error *error)
{
    if (!method_has_one_loss(&prepared->method))
        return error_set(error, ERROR_UNSUPPORTED, prepared->network->name, "choose --criterion l1",
                         "two networks that train against each other have no loss whose change "
                         "could be estimated");
    for (size_t i = 0; i < request->batches; i++)
        if (!add_batch(prepared, &subject->groups, i, sums, error) ||
            !technique_watch_step(watch, NULL, error))
            return false;
    return true;
}

/* Computes the gradients of request->batches batches, as training would with the request's
 * settings, and changes no weights. Returns the sums for channel_importance, which the caller
 * frees; NULL with an error. */
static double *taylor_sums(const struct prune_subject *subject, const struct prune_request *request,
                           const struct technique_watch *watch, struct error *error)
{
    struct run_config config;
    struct preparation prepared = {0};
    double *sums = memory_new(subject->groups.channel_count, sizeof *sums, "the criterion", error);
    bool summed = sums && make_config(&config, subject->path, request, error);
    if (summed) {
        const struct run_preprocessing from = run_preprocessing_of(&config, NULL);
        summed = prepare(&prepared, &config, &from, 0, NULL, NULL, error);
    }
    if (summed) {
        summed = add_batches(&prepared, subject, request, watch, sums, error);
        prepare_free(&prepared);
    }
    if (summed)
        return sums;
    free(sums);
    return NULL;
}

/* --- the subject --- */

/* Sets keep[] to true for the layers that these patterns name; "": none. Returns false with an
 * error if a pattern names none. */
static bool prune_mark_kept(const struct graph *graph, const char *patterns, bool *keep,
                            struct error *error)
{
    if (!patterns || !patterns[0])
        return true;
    if (!name_pattern_check(patterns, graph, "--keep", error))
        return false;
    for (size_t i = 0; i < graph->node_count; i++)
        for (size_t p = 0; p < graph->nodes[i].parameter_count; p++)
            keep[i] |= name_pattern_matches(patterns,
                                            graph->parameters[graph->nodes[i].parameters[p]].name);
    return true;
}

/* Returns the reason why the channels of a layer with weights stay, for a network from which
 * nothing can be removed. */
static enum channel_hold first_hold(const struct channel_groups *groups)
{
    const struct graph *graph = groups->graph;
    enum channel_hold hold = CHANNEL_OUTPUT;
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct channel_group *group = &groups->groups[groups->group_of[groups->first[i]]];
        if (graph->nodes[i].parameter_count && group->hold != CHANNEL_FREE) {
            hold = group->hold;
            if (hold != CHANNEL_OUTPUT)
                break;
        }
    }
    return hold;
}

static bool check_choice(const struct prune_subject *subject, enum channel_criterion criterion,
                         struct error *error)
{
    const struct channel_groups *groups = &subject->groups;
    bool any = false;
    for (size_t i = 0; i < groups->count; i++) {
        if (groups->groups[i].hold != CHANNEL_FREE)
            continue;
        if (!isnan(subject->importance[i]))
            return true;
        any = true;
    }
    if (any)
        return error_set(error, ERROR_UNSUPPORTED, subject->model->network->name,
                         "choose --criterion l1 or taylor",
                         "none of its channels has a scale of the criterion %s",
                         channel_criterion_names[criterion]);
    return error_set(error, ERROR_UNSUPPORTED, subject->model->network->name,
                     "prune another network, or this one before other techniques",
                     "none of its channels can be removed: %s",
                     language_text(channel_hold_text(first_hold(groups))));
}

static void prune_subject_free(struct prune_subject *subject)
{
    channel_groups_free(&subject->groups);
    free(subject->importance);
    *subject = (struct prune_subject){0};
}

/* Finds the groups, and how important they are. prune_subject_free releases the subject. Returns
 * false with an error, also if no channel can be removed. */
static bool prune_subject_open(struct prune_subject *subject, const char *path, struct model *model,
                               const struct prune_request *request,
                               const struct technique_watch *watch, struct error *error)
{
    const struct graph *graph = &model->network->graph;
    *subject = (struct prune_subject){.path = path, .model = model};
    bool *keep = memory_new(graph->node_count, sizeof *keep, "layers", error);
    double *sums = NULL;
    bool opened = keep && prune_mark_kept(graph, request->keep, keep, error) &&
                  channel_groups_find(&subject->groups, graph, keep, error);
    if (opened && request->criterion == CRITERION_TAYLOR)
        opened = (sums = taylor_sums(subject, request, watch, error));
    opened = opened &&
             (subject->importance = memory_new(subject->groups.count, sizeof *subject->importance,
                                               "importance", error)) &&
             channel_importance(&subject->groups, &model->weights, request->criterion, sums,
                                subject->importance, error) &&
             check_choice(subject, request->criterion, error);
    free(keep);
    free(sums);
    if (!opened)
        prune_subject_free(subject);
    return opened;
}

/* --- a candidate --- */

static void prune_candidate_free(struct prune_candidate *candidate)
{
    struct model *model = &candidate->model;
    execution_free(model->execution);
    plan_free(model->plan);
    weights_free(&model->weights);
    network_free(model->network);
    prune_selection_free(&candidate->selection);
    *candidate = (struct prune_candidate){0};
}

/* Removes groups until at most `limit` FLOPs or parameters remain. `name` is the step of the
 * network's chain, NULL: it has it already. prune_candidate_free releases the result. */
static bool prune_to_limit(const struct prune_subject *subject, enum prune_measure measure,
                           uint64_t limit, const char *name, struct prune_candidate *candidate,
                           struct error *error)
{
    const struct model *origin = subject->model;
    struct model *model = &candidate->model;
    *candidate = (struct prune_candidate){.model = {.preprocessing = origin->preprocessing,
                                                    .class_names = origin->class_names,
                                                    .device = origin->device}};
    if (prune_select(&candidate->selection, &subject->groups, subject->importance, measure, limit,
                     error) &&
        (model->network =
             prune_network(origin->network, &candidate->selection, name, subject->later, error)) &&
        weights_create(&model->weights, &model->network->graph, error) &&
        prune_copy_weights(&subject->groups, &candidate->selection, &origin->weights,
                           &model->weights, error))
        return true;
    prune_candidate_free(candidate);
    return false;
}

/* --- latency --- */

/* Sets *fast to whether a candidate takes at most `ms`, in two measurements of which it keeps the
 * longer one. */
static bool is_fast(struct prune_candidate *candidate, double ms, bool *fast, struct error *error)
{
    struct statistics first, second;
    if (!inference_time(&candidate->model, &first, error))
        return false;
    candidate->ms = first.median;
    *fast = first.median <= ms;
    if (*fast && !inference_time(&candidate->model, &second, error))
        return false;
    if (*fast) {
        candidate->ms = fmax(first.median, second.median);
        *fast = second.median <= ms;
    }
    return true;
}

static bool report_probe(const struct technique_watch *watch, double share, double ms,
                         struct error *error)
{
    char text[128];
    snprintf(text, sizeof text, _("%.3g of the FLOPs: %.4g ms"), share, ms);
    return technique_watch_step(watch, text, error);
}

/* Removes groups until one image takes at most `ms` milliseconds: searches for the largest share of
 * the FLOPs that meets this, by bisection. */
static bool prune_to_latency(const struct prune_subject *subject, double ms, const char *name,
                             const struct technique_watch *watch, struct prune_candidate *candidate,
                             struct error *error)
{
    const double all = (double)graph_flops(&subject->model->network->graph);
    double low = 0, high = 1, least = (double)INFINITY;
    bool found = false;
    *candidate = (struct prune_candidate){0};
    for (size_t i = 0; i < PROBES; i++) {
        const double share = (low + high) / 2;
        struct prune_candidate probe;
        bool fast = false;
        struct error failed;
        if (!prune_to_limit(subject, PRUNE_FLOPS, (uint64_t)(share * all), name, &probe, &failed)) {
            low = share; /* every layer has its fewest channels already */
            if (failed.kind != ERROR_INPUT)
                return error_set(error, failed.kind, failed.what, failed.advice, "%s", failed.why);
            continue;
        }
        if (!is_fast(&probe, ms, &fast, error) || !report_probe(watch, share, probe.ms, error)) {
            prune_candidate_free(&probe);
            prune_candidate_free(candidate);
            return false;
        }
        least = fmin(least, probe.ms);
        if (fast) {
            prune_candidate_free(candidate);
            *candidate = probe;
            found = true;
            low = share;
        } else {
            prune_candidate_free(&probe);
            high = share;
        }
    }
    return found ||
           error_set(error, ERROR_INPUT, "--latency",
                     "choose a longer time, or a faster device or more threads",
                     "no pruned network took %.4g ms; the fastest took %.4g ms", ms, least);
}

/* --- pruning in steps --- */

/* Each step begins with a file and ends with one, so that an interrupted pruning continues with the
 * file of the last complete step. */

/* --- the request --- */

static const char *goal_option(enum prune_goal goal)
{
    return goal == GOAL_FLOPS ? "--flops" : goal == GOAL_PARAMETERS ? "--parameters" : "--latency";
}

/* Checks a request before anything is opened. Returns false with an error. */
static bool prune_check(const struct prune_request *request, struct error *error)
{
    const bool data = fine_tune_has_data(&request->config, NULL);
    const bool is_share = request->goal != GOAL_LATENCY;
    if (!(request->target > 0) || !isfinite(request->target) || (is_share && request->target >= 1))
        return error_set(error, ERROR_USAGE, goal_option(request->goal),
                         is_share ? N_("give what remains, as 0.5") : N_("give milliseconds"),
                         is_share ? N_("it is a share above 0 and below 1")
                                  : N_("it is a time above 0"));
    if (!data && config_holds_out(&request->config))
        return error_set(error, ERROR_USAGE, OPTION(validate), "give --data SPEC",
                         "a part of the training data needs that data");
    if (!fine_tune_check(&request->config, request->model, error))
        return false;
    if (!data && request->criterion == CRITERION_TAYLOR)
        return error_set(error, ERROR_USAGE, OPTION(data), "give --data SPEC",
                         "the criterion taylor needs a data set");
    return model_output_check(request->model, request->output, error);
}

/* --- figures --- */

struct pruning {
    const struct prune_request *request;
    const struct technique_watch *watch;
    struct prune_state state;
    struct prune_result *result;
    struct model origin;
};

/* Evaluates a model if the request has a set for that. */
static bool evaluate(const struct pruning *pruning, struct model *model,
                     struct prune_figures *figures, struct error *error)
{
    const struct evaluation_request request = {.progress = technique_watch_poll,
                                               .context = (void *)pruning->watch};
    char spec[CONFIG_SPEC];
    if (!pruning->result->evaluated)
        return true;
    struct dataset *dataset =
        model_open_set(model, config_validation_spec(&pruning->request->config, spec), error);
    const bool evaluated =
        dataset && model_evaluate_set(model, dataset, &request, &figures->accuracy, error);
    dataset_free(dataset);
    return evaluated;
}

static bool fill_sizes(const struct model *model, const char *path, struct prune_figures *figures,
                       struct error *error)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return error_set_errno(error, path, NULL, "the file cannot be read");
    figures->bytes = (uint64_t)status.st_size;
    figures->flops = graph_flops(&model->network->graph);
    figures->parameters = graph_parameter_count(&model->network->graph);
    return true;
}

static void fill_layer(const struct channel_groups *groups, size_t number, size_t after,
                       struct prune_layer *layer)
{
    const struct graph *graph = groups->graph;
    const struct channel_group *group = &groups->groups[groups->group_of[groups->first[number]]];
    snprintf(layer->name, sizeof layer->name, "%s", graph->nodes[number].name);
    layer->before = graph->nodes[number].output.channels;
    layer->after = after;
    layer->hold = group->hold;
    if (group->hold != CHANNEL_FREE)
        snprintf(layer->holder, sizeof layer->holder, "%s", graph->nodes[group->holder].name);
}

/* Fills the table of layers: channels before and after, and why they all stay. */
static bool fill_layers(struct pruning *pruning, const struct model *after, struct error *error)
{
    struct prune_result *result = pruning->result;
    const struct graph *graph = &pruning->origin.network->graph;
    struct channel_groups groups = {0};
    bool *keep = memory_new(graph->node_count, sizeof *keep, "layers", error);
    result->layers = memory_new(graph->node_count, sizeof *result->layers, "layers", error);
    const bool found = keep && result->layers &&
                       prune_mark_kept(graph, pruning->request->keep, keep, error) &&
                       channel_groups_find(&groups, graph, keep, error);
    for (size_t i = 0; found && i < graph->node_count; i++) {
        const struct node *node = &graph->nodes[i];
        size_t number;
        if ((node->op == &op_conv || node->op == &op_conv_transpose || node->op == &op_linear) &&
            graph_find(&after->network->graph, node->name, &number))
            fill_layer(&groups, i, after->network->graph.nodes[number].output.channels,
                       &result->layers[result->layer_count++]);
    }
    for (size_t i = 0; found && i < groups.count; i++)
        if (groups.groups[i].hold == CHANNEL_FREE)
            result->free_groups++;
        else
            result->held_groups++;
    channel_groups_free(&groups);
    free(keep);
    return found;
}

/* Fills the result from the models before and after. */
static bool fill_result(struct pruning *pruning, struct error *error)
{
    struct prune_result *result = pruning->result;
    struct model after;
    struct statistics ms[2] = {{0}};
    const struct machine_settings machine = machine_settings(&pruning->request->config);
    if (!model_load(&after, pruning->request->output, machine.device, machine.threads, error))
        return false;
    network_full_name(after.network, result->network, sizeof result->network);
    snprintf(result->device, sizeof result->device, "%s", after.device->name);
    result->threads = after.device->threads;
    const bool filled =
        fill_sizes(&pruning->origin, pruning->request->model, &result->before, error) &&
        fill_sizes(&after, pruning->request->output, &result->after, error) &&
        fill_layers(pruning, &after, error) &&
        inference_times(&pruning->origin, &after, ms, error) &&
        evaluate(pruning, &after, &result->after, error);
    result->before.ms = ms[0];
    result->after.ms = ms[1];
    model_free(&after);
    return filled;
}

/* --- steps --- */

/* Returns the file that step `step` begins with, which the caller frees; NULL with an error. */
static char *begin_with(const struct pruning *pruning, size_t step, struct error *error)
{
    return step == 0 ? memory_copy_text(pruning->request->model, error)
                     : prune_state_model(&pruning->state, step - 1,
                                         fine_tune_is_wanted(&pruning->request->config), error);
}

/* Returns the target of a step: the steps approach the target evenly. */
static double target_of(const struct prune_request *request, double before, double after,
                        size_t step)
{
    return before - (before - after) * (double)(step + 1) / (double)request->steps;
}

/* Measures the model before the first step, once. */
static bool measure_before(struct pruning *pruning, struct error *error)
{
    struct statistics ms;
    if (pruning->state.ms_before > 0)
        return true;
    if (!inference_time(&pruning->origin, &ms, error))
        return false;
    pruning->state.ms_before = ms.median;
    return ms.median > pruning->request->target ||
           error_set(error, ERROR_INPUT, "--latency", "choose a shorter time",
                     "the model takes %.4g ms already", ms.median);
}

/* Writes the name of step `step` in the chain of its result: the target that it reaches. */
static char *name_of_step(const struct pruning *pruning, size_t step, char *text, size_t size)
{
    struct prune_request own = *pruning->request;
    const double before = own.goal == GOAL_LATENCY ? pruning->state.ms_before : 1;
    if (step + 1 < own.steps)
        own.target = target_of(pruning->request, before, own.target, step);
    return prune_step_name(&own, text, size);
}

static bool make_candidate(struct pruning *pruning, const struct prune_subject *subject,
                           size_t step, struct prune_candidate *candidate, struct error *error)
{
    char text[64];
    const struct prune_request *request = pruning->request;
    const struct graph *graph = &pruning->origin.network->graph;
    if (request->goal == GOAL_LATENCY && !measure_before(pruning, error))
        return false;
    const char *name = name_of_step(pruning, step, text, sizeof text);
    if (request->goal == GOAL_LATENCY)
        return prune_to_latency(subject,
                                target_of(request, pruning->state.ms_before, request->target, step),
                                name, pruning->watch, candidate, error);
    const bool flops = request->goal == GOAL_FLOPS;
    const double all = flops ? (double)graph_flops(graph) : (double)graph_parameter_count(graph);
    return prune_to_limit(subject, flops ? PRUNE_FLOPS : PRUNE_PARAMETERS,
                          (uint64_t)(all * target_of(request, 1, request->target, step)), name,
                          candidate, error);
}

/* Saves the result of a step and notes it. */
static bool save_step(struct pruning *pruning, size_t step, const struct prune_candidate *candidate,
                      struct error *error)
{
    struct prune_state *state = &pruning->state;
    const struct prune_request *request = pruning->request;
    const bool is_result = step + 1 == request->steps && !fine_tune_is_wanted(&request->config);
    char *path = prune_state_model(state, step, false, error);
    const bool saved =
        path &&
        model_save_derived(&pruning->origin, candidate->model.network, &candidate->model.weights,
                           is_result ? request->format : WEIGHTS_FLOAT32, path, error);
    free(path);
    if (!saved)
        return false;
    state->stages[step] = (struct prune_stage){.flops = candidate->selection.flops,
                                               .parameters = candidate->selection.parameters,
                                               .ms = candidate->ms};
    state->count = step + 1;
    return prune_state_write(state, error);
}

static bool prune_step(struct pruning *pruning, size_t step, struct error *error)
{
    const struct machine_settings machine = machine_settings(&pruning->request->config);
    struct model loaded = {0}, *model = &pruning->origin;
    struct prune_subject subject;
    struct prune_candidate candidate;
    char *path = begin_with(pruning, step, error);
    bool pruned = path;
    if (pruned && step > 0) {
        pruned = model_load(&loaded, path, machine.device, machine.threads, error);
        model = &loaded;
    }
    if (pruned)
        pruned = prune_subject_open(&subject, path, model, pruning->request, pruning->watch, error);
    if (pruned) {
        subject.later = step > 0;
        pruned = make_candidate(pruning, &subject, step, &candidate, error);
        if (pruned) {
            pruned = save_step(pruning, step, &candidate, error);
            prune_candidate_free(&candidate);
        }
        prune_subject_free(&subject);
    }
    if (loaded.network)
        model_free(&loaded);
    free(path);
    return pruned;
}

/* Reports the share of the FLOPs and of the parameters after the step. */
static bool report_step(const struct pruning *pruning, size_t step, struct error *error)
{
    char text[256];
    const struct prune_stage *stage = &pruning->state.stages[step];
    const struct graph *graph = &pruning->origin.network->graph;
    snprintf(text, sizeof text, _("step %zu of %zu: %.4g of the FLOPs, %.4g of the parameters"),
             step + 1, pruning->request->steps, (double)stage->flops / (double)graph_flops(graph),
             (double)stage->parameters / (double)graph_parameter_count(graph));
    return technique_watch_step(pruning->watch, text, error);
}

/* --- fine-tuning --- */

/* Starts the run of a step, whose network and weights are the step's model, and notes its folder,
 * so that a repeated command finds it: complete, or to be resumed. */
static struct run *start(struct pruning *pruning, size_t step, struct error *error)
{
    char note[160];
    struct prune_state *state = &pruning->state;
    char *path = prune_state_model(state, step, false, error);
    snprintf(note, sizeof note, "fine-tuning after step %zu of %zu of a pruning", step + 1,
             pruning->request->steps);
    const struct fine_tuning tuning = {
        .settings = &pruning->request->config, .model = path, .tag = "prune", .note = note};
    struct run *run = path ? fine_tune_start(&tuning, error) : NULL;
    free(path);
    if (!run)
        return NULL;
    snprintf(state->stages[step].run, sizeof state->stages[step].run, "%s",
             run_facts(run)->directory);
    if (prune_state_write(state, error))
        return run;
    run_free(run);
    return NULL;
}

/* Returns the run of a step, that trains; NULL with an error or, if it is complete, with
 * ERROR_NONE. */
static struct run *begin_tuning(struct pruning *pruning, size_t step, struct error *error)
{
    struct run_outline *outline = malloc(sizeof *outline);
    struct run *run = NULL;
    const char *directory = pruning->state.stages[step].run;
    error->kind = ERROR_NONE;
    if (!outline)
        error_set_memory(error, "a run", 0);
    else if (!directory[0] || !file_is_directory(directory)) /* it was refused or removed */
        run = start(pruning, step, error);
    else if (run_peek(directory, outline, error) && outline->snapshot.status != RUN_DONE)
        run = fine_tune_resume(directory, &pruning->request->config, error);
    free(outline);
    return run;
}

/* Trains the model of a step, or resumes its run, saves the result and notes it in the state.
 * Returns false with an error, also if the run was stopped. */
static bool tune(struct pruning *pruning, size_t step, struct error *error)
{
    struct prune_state *state = &pruning->state;
    struct run *run = begin_tuning(pruning, step, error);
    if (run ? !fine_tune_finish(run, pruning->watch, N_("the same command continues it"), error)
            : error->kind != ERROR_NONE)
        return false;
    char *path = prune_state_model(state, step, true, error);
    const bool saved =
        path && fine_tune_copy(&pruning->request->config, state->stages[step].run, path, error);
    free(path);
    state->stages[step].tuned = saved;
    return saved && prune_state_write(state, error);
}

static bool prune_steps(struct pruning *pruning, struct error *error)
{
    struct prune_state *state = &pruning->state;
    for (size_t i = 0; i < pruning->request->steps; i++) {
        if ((i >= state->count && !prune_step(pruning, i, error)) ||
            !report_step(pruning, i, error))
            return false;
        if (fine_tune_is_wanted(&pruning->request->config) && !state->stages[i].tuned &&
            !tune(pruning, i, error))
            return false;
        if (!technique_watch_step(pruning->watch, NULL, error))
            return false;
    }
    return true;
}

/* --- all --- */

static bool run_all(struct pruning *pruning, struct error *error)
{
    const struct prune_request *request = pruning->request;
    struct prune_result *result = pruning->result;
    char *last = NULL;
    result->evaluated = data_settings(&request->config).validate[0];
    /* evaluated first, so that an unsuitable set is found at once */
    bool done = evaluate(pruning, &pruning->origin, &result->before, error) &&
                prune_steps(pruning, error) &&
                (last = begin_with(pruning, request->steps, error)) &&
                output_file_copy(request->output, last, error);
    free(last);
    if (!done)
        return false;
    result->stage_count = pruning->state.count;
    memcpy(result->stages, pruning->state.stages, sizeof result->stages);
    done = fill_result(pruning, error);
    if (done)
        prune_state_remove(&pruning->state);
    return done;
}

/* Returns whether a repeated command could continue after this error. */
static bool can_go_on(const struct prune_state *state, const struct error *error)
{
    bool runs = false;
    for (size_t i = 0; i < state->count; i++)
        runs |= state->stages[i].run[0] && file_is_directory(state->stages[i].run);
    return state->count > 0 && (runs || fine_tune_was_cut_off(error));
}

bool prune_run(const struct prune_request *request, const struct technique_watch *watch,
               struct prune_result *result, struct error *error)
{
    struct pruning pruning = {.request = request, .watch = watch, .result = result};
    const struct machine_settings machine = machine_settings(&request->config);
    /* the model that a step begins with, and the one that it makes */
    const struct model_use use = {.copies = request->steps > 1, .models = 1};
    *result = (struct prune_result){0};
    if (!prune_check(request, error) ||
        !model_load_for(&pruning.origin, request->model, machine.device, machine.threads, &use,
                        error))
        return false;
    bool done =
        fine_tune_check_layers(&request->config, &pruning.origin.network->graph, true, error) &&
        prune_state_open(&pruning.state, request, pruning.origin.network->name, error) &&
        run_all(&pruning, error);
    if (!done && pruning.state.folder && !can_go_on(&pruning.state, error))
        prune_state_remove(&pruning.state);
    if (!done)
        prune_result_free(result);
    prune_state_free(&pruning.state);
    model_free(&pruning.origin);
    return done;
}

void prune_result_free(struct prune_result *result)
{
    free(result->layers);
    *result = (struct prune_result){0};
}

/* The criterion taylor takes gradients of the saved model, from the batches of a training that
 * updates nothing. The bisection needs only a few probes. An accepted share takes at most the
 * wanted time in two measurements, since a single one may be short by chance. */
#include "training/compress/internal.h"

#include "base/language.h"
#include "base/memory.h"
#include "engine/compress/prune_network.h"
#include "engine/graph/name_pattern.h"
#include "engine/ops/op.h"
#include "models/measure/inference_time.h"
#include "runs/settings/config_data.h"
#include "training/prepare/prepare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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

bool prune_mark_kept(const struct graph *graph, const char *patterns, bool *keep,
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

bool prune_subject_open(struct prune_subject *subject, const char *path, struct model *model,
                        const struct prune_request *request, const struct technique_watch *watch,
                        struct error *error)
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

void prune_subject_free(struct prune_subject *subject)
{
    channel_groups_free(&subject->groups);
    free(subject->importance);
    *subject = (struct prune_subject){0};
}

/* --- a candidate --- */

void prune_candidate_free(struct prune_candidate *candidate)
{
    struct model *model = &candidate->model;
    execution_free(model->execution);
    plan_free(model->plan);
    weights_free(&model->weights);
    network_free(model->network);
    prune_selection_free(&candidate->selection);
    *candidate = (struct prune_candidate){0};
}

bool prune_to_limit(const struct prune_subject *subject, enum prune_measure measure, uint64_t limit,
                    const char *name, struct prune_candidate *candidate, struct error *error)
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

bool prune_to_latency(const struct prune_subject *subject, double ms, const char *name,
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

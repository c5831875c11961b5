/* Each step begins with a file and ends with one, so that an interrupted pruning continues with the
 * file of the last complete step. */
#include "training/compress/prune.h"

#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/language.h"
#include "base/memory.h"
#include "engine/compress/prune_network.h"
#include "engine/ops/op.h"
#include "models/measure/inference_time.h"
#include "models/saved/model_file.h"
#include "models/saved/model_output.h"
#include "runs/record/run_open.h"
#include "runs/settings/config_data.h"
#include "runs/settings/settings.h"
#include "training/compress/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

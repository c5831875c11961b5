/* Inspects a training: time per layer, and weights. Inspections are requested by the user
 * (COMMAND_INSPECT); another one covers the last iterations, so that views can show where the time
 * went when the run is over. An automatic one may delay the run by a hundredth of its time, but at
 * most a second.
 *
 * An inspection lasts 16 iterations or one second, whichever is shorter, but at least one
 * iteration. It attaches profiles to the executions, which changes no result, and measures the
 * weights of the first iteration if that is asked for. The networks of the method are inspected:
 * one, or a generator and its discriminator, whose two executions (trained and frozen) share a
 * profile. */
#include "training/observer.h"

#include "base/clock.h"
#include "base/host/host.h"
#include "base/memory.h"
#include "engine/ops/op.h"
#include "engine/plan/roofline.h"
#include "runs/folder/inspection.h"
#include "training/inspect_weights.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INSPECTOR_ITERATIONS = 16, INSPECTOR_SECONDS = 1 }; /* at most */

struct inspector_request {
    uint64_t done;  /* iterations before the first one that is measured */
    bool weights;   /* measure the weights as well */
    bool until_end; /* the run ends within INSPECTOR_ITERATIONS: do not end after a second */
    bool after_end; /* see struct inspection */
};

struct inspector {
    struct inspection *made; /* the inspection in progress; NULL: none */
    struct profile *profiles[INSPECTION_NETWORKS];
    float *before[INSPECTION_NETWORKS]; /* the weights before the first step; NULL: not enough
                                           memory */
    bool weights, until_end;            /* as requested */
    uint64_t began, step_began;         /* clock_nanoseconds; 0: not begun */
};

static inline bool is_active(const struct inspector *inspector)
{
    return inspector->made != NULL;
}

/* --- an inspection --- */

_Static_assert((int)INSPECTION_NETWORKS == (int)METHOD_NETWORKS, "each network is inspected");

/* --- the start and the end of an inspection --- */

static void attach(struct inspector *inspector, struct preparation *prepared, bool on)
{
    struct profile *const none[INSPECTION_NETWORKS] = {NULL};
    method_set_profiles(&prepared->method, on ? inspector->profiles : none);
}

/* Ends an inspection without a result. */
static void abandon(struct inspector *inspector, struct preparation *prepared)
{
    if (inspector->made)
        attach(inspector, prepared, false);
    for (size_t i = 0; i < INSPECTION_NETWORKS; i++) {
        profile_free(inspector->profiles[i]);
        free(inspector->before[i]);
    }
    inspection_free(inspector->made);
    *inspector = (struct inspector){0};
}

/* Copies the weights before a step, to compute the norm of the update. Does nothing unless the copy
 * is a small part of the free memory; the norm is unknown then. */
static void make_room_for_weights(struct inspector *inspector,
                                  const struct method_network *subjects, size_t count)
{
    uint64_t bytes = 0, available = host_available_bytes();
    for (size_t i = 0; i < count; i++)
        bytes += subjects[i].plan->graph->learnable_floats * sizeof(float);
    for (size_t i = 0; i < count && (available == 0 || bytes <= available / 4); i++)
        inspector->before[i] = memory_new_aligned(subjects[i].plan->graph->learnable_floats,
                                                  sizeof(float), "a copy of the weights", NULL);
}

/* Begins an inspection, unless one is in progress. Returns false with an error if out of memory. */
static bool begin_profiles(struct inspector *inspector, struct preparation *prepared,
                           const struct inspector_request *request, struct error *error)
{
    struct method_network subjects[INSPECTION_NETWORKS];
    if (is_active(inspector))
        return true;
    struct inspection *made = memory_new(1, sizeof *made, "a profile", error);
    if (!made)
        return false;
    inspector->made = made;
    made->iteration = request->done + 1;
    made->after_end = request->after_end;
    made->threads = prepared->device->threads;
    made->network_count = method_networks(&prepared->method, subjects);
    for (size_t i = 0; i < made->network_count; i++) {
        inspector->profiles[i] =
            profile_create(subjects[i].plan->graph->node_count, made->threads, error);
        if (!inspector->profiles[i]) {
            abandon(inspector, prepared);
            return false;
        }
    }
    inspector->weights = request->weights;
    inspector->until_end = request->until_end;
    if (request->weights)
        make_room_for_weights(inspector, subjects, made->network_count);
    attach(inspector, prepared, true);
    return true;
}

/* Returns the seconds within which the weights can be measured, as a generous estimate. */
static double weights_seconds(const struct preparation *prepared)
{
    const double seconds_per_value = 3e-8; /* 6e-9 on an idle core, 2.4e-8 on a busy one */
    struct method_network subjects[INSPECTION_NETWORKS];
    const size_t count = method_networks(&prepared->method, subjects);
    double values = 0;
    for (size_t i = 0; i < count; i++)
        values += (double)subjects[i].plan->graph->total_floats;
    return values * seconds_per_value;
}

/* Returns whether enough was measured; `last`: no iteration will follow. */
static bool is_complete(const struct inspector *inspector, bool last)
{
    const struct inspection *made = inspector->made;
    if (!made || made->iterations == 0)
        return false;
    return last || made->iterations >= INSPECTOR_ITERATIONS ||
           (!inspector->until_end &&
            clock_seconds(inspector->began, clock_nanoseconds()) >= INSPECTOR_SECONDS);
}

/* --- weights --- */

static bool measure_before(struct inspection_network *network, const struct method_network *subject)
{
    const struct graph *graph = subject->plan->graph;
    if (!weights_fetch(subject->weights, NULL))
        return false;
    network->tensors =
        memory_new(graph->parameter_count, sizeof *network->tensors, "the weights", NULL);
    if (!network->tensors)
        return false;
    network->tensor_count = graph->parameter_count;
    for (size_t i = 0; i < graph->parameter_count; i++) {
        const struct parameter *parameter = &graph->parameters[i];
        struct inspection_tensor *tensor = &network->tensors[i];
        snprintf(tensor->name, sizeof tensor->name, "%s", parameter->name);
        tensor->count = parameter->count;
        tensor->rank = parameter->rank;
        tensor->learnable = parameter->learnable;
        tensor->gradient_norm = tensor->update_norm = NAN;
        inspect_values(tensor, subject->weights->values + parameter->offset, parameter->count);
    }
    return true;
}

static void measure_after(struct inspection_network *network, const struct method_network *subject,
                          const float *before)
{
    const struct graph *graph = subject->plan->graph;
    const float *gradients = execution_parameter_gradients(subject->execution);
    if (!weights_fetch(subject->weights, NULL))
        return; /* the device failed, and the run will say so */
    for (size_t i = 0; i < network->tensor_count; i++) {
        const struct parameter *parameter = &graph->parameters[i];
        struct inspection_tensor *tensor = &network->tensors[i];
        const size_t offset = parameter->offset, count = parameter->count;
        if (!parameter->learnable)
            continue;
        tensor->gradient_norm = inspect_norm(gradients ? gradients + offset : NULL, count);
        tensor->update_norm = inspect_distance(subject->weights->values + offset,
                                               before ? before + offset : NULL, count);
    }
}

/* Measures before a step of an inspection. Returns the nanoseconds that it took, which do not
 * belong to the iteration. */
static uint64_t measure_before_step(struct inspector *inspector, struct preparation *prepared)
{
    struct method_network subjects[INSPECTION_NETWORKS];
    const uint64_t began = clock_nanoseconds();
    const size_t count = method_networks(&prepared->method, subjects);
    for (size_t i = 0; i < count && inspector->weights && inspector->made->iterations == 0; i++) {
        const struct method_network *subject = &subjects[i];
        if (measure_before(&inspector->made->networks[i], subject) && inspector->before[i])
            memcpy(inspector->before[i], subject->weights->values,
                   subject->plan->graph->learnable_floats * sizeof(float));
    }
    inspector->step_began = clock_nanoseconds();
    if (inspector->began == 0)
        inspector->began = inspector->step_began;
    inspector->made->cost += clock_seconds(began, inspector->step_began);
    return inspector->step_began - began;
}

/* Does the same after the step. */
static uint64_t measure_after_step(struct inspector *inspector, struct preparation *prepared,
                                   size_t images)
{
    struct method_network subjects[INSPECTION_NETWORKS];
    struct inspection *made = inspector->made;
    const uint64_t began = clock_nanoseconds();
    const size_t count = method_networks(&prepared->method, subjects);
    made->seconds += clock_seconds(inspector->step_began, began);
    made->images += images;
    for (size_t i = 0; i < count && inspector->weights && made->iterations == 0; i++)
        measure_after(&made->networks[i], &subjects[i], inspector->before[i]);
    made->iterations++;
    const uint64_t ended = clock_nanoseconds();
    made->cost += clock_seconds(began, ended);
    return ended - began;
}

/* --- layers --- */

/* Returns the FLOPs of a step in all backward passes of an iteration. The discriminator has three:
 * for real and for generated pairs, and one with frozen weights (gan.c). */
static double backward_flops_of(const struct method_network *subject, size_t step)
{
    double once = roofline_backward_flops(subject->plan, &subject->plan->steps[step]);
    return subject->other
               ? 2 * once + roofline_backward_flops(subject->other, &subject->other->steps[step])
               : once;
}

static uint64_t memory_of(const struct plan *plan, size_t node)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < plan->arena.array_count; i++)
        if (plan->arena.arrays[i].node == node && plan->arena.arrays[i].kind != PLAN_GRADIENT)
            bytes += plan->arena.arrays[i].bytes;
    return bytes;
}

static void describe_layer(struct inspection_layer *layer, const struct inspection *made,
                           const struct method_network *subject, size_t s,
                           const struct profile *profile)
{
    const struct plan *plan = subject->plan;
    const struct plan_step *step = &plan->steps[s];
    const struct node *node = &plan->graph->nodes[step->node];
    const struct profile_layer times = profile_node(profile, step->node);
    const double images = (double)made->images;
    const double passes = (double)times.calls / (double)made->iterations;
    char kernel[PLAN_KERNEL_NAME_SIZE];
    snprintf(layer->name, sizeof layer->name, "%s", node->name);
    snprintf(layer->op, sizeof layer->op, "%s", node->op->name);
    snprintf(layer->kernel, sizeof layer->kernel, "%s",
             plan_step_kernel_name(plan, step, kernel, sizeof kernel));
    snprintf(layer->choice, sizeof layer->choice, "%s", step->choice);
    layer->output = node->output;
    layer->memory_bytes = memory_of(plan, step->node);
    layer->forward_seconds = times.forward_seconds;
    layer->backward_seconds = times.backward_seconds;
    layer->forward_flops = (double)graph_node_flops(plan->graph, step->node) * images * passes;
    layer->backward_flops = backward_flops_of(subject, s) * images;
}

/* Returns whether a step is shown: views are not, unless they are fused into another layer, because
 * a reader should see that those cost nothing. */
static bool is_shown(const struct plan_step *step)
{
    return !plan_step_is_view(step);
}

static bool describe_network(struct inspection_network *network, const struct inspection *made,
                             const struct method_network *subject, const struct profile *profile,
                             struct error *error)
{
    const struct plan *plan = subject->plan;
    snprintf(network->name, sizeof network->name, "%s", subject->name);
    network->layers = memory_new(plan->step_count, sizeof *network->layers, "a profile", error);
    for (size_t s = 0; network->layers && s < plan->step_count; s++)
        if (is_shown(&plan->steps[s]))
            describe_layer(&network->layers[network->layer_count++], made, subject, s, profile);
    if (network->layers)
        network->gemm = profile_gemm_rows(profile, &network->gemm_count, error);
    return network->gemm;
}

/* --- memory --- */

static bool describe_arena(struct inspection *made, const char *name, const struct plan *plan,
                           struct error *error)
{
    struct inspection_arena *arena = &made->arenas[made->arena_count++];
    snprintf(arena->name, sizeof arena->name, "%s", name);
    arena->steps = plan->step_count;
    arena->times = plan->order.count;
    arena->bytes = plan->arena.bytes;
    arena->workspace = plan->arena.bytes - plan->arena.workspace;
    arena->arrays = memory_new(plan->arena.array_count, sizeof *arena->arrays, "a profile", error);
    if (!arena->arrays)
        return false;
    arena->array_count = plan->arena.array_count;
    for (size_t i = 0; i < plan->arena.array_count; i++) {
        const struct plan_array *array = &plan->arena.arrays[i];
        arena->arrays[i] = (struct inspection_array){.kind = array->kind,
                                                     .offset = array->offset,
                                                     .bytes = array->bytes,
                                                     .first = array->first,
                                                     .last = array->last};
        snprintf(arena->arrays[i].name, sizeof arena->arrays[i].name, "%s",
                 plan->graph->nodes[array->node].name);
    }
    return true;
}

/* Ends an inspection and returns its result, which the caller frees; NULL with an error if out of
 * memory. */
static struct inspection *end_profiles(struct inspector *inspector, struct preparation *prepared,
                                       struct error *error)
{
    struct method_network subjects[INSPECTION_NETWORKS];
    struct inspection *made = inspector->made;
    const size_t count = method_networks(&prepared->method, subjects);
    bool described = true;
    for (size_t i = 0; described && i < count; i++) {
        const struct method_network *subject = &subjects[i];
        described =
            describe_network(&made->networks[i], made, subject, inspector->profiles[i], error) &&
            describe_arena(made, subject->name, subject->plan, error) &&
            (!subject->other || describe_arena(made, "judging", subject->other, error));
    }
    const struct recording_refusals refusals = prepare_recording_refusals(prepared);
    snprintf(made->graph_refused, sizeof made->graph_refused, "%s", refusals.why);
    made->graphs_refused = refusals.captures;
    made->passes_without_graph = refusals.passes;
    if (described)
        inspector->made = NULL;
    attach(inspector, prepared, false);
    abandon(inspector, prepared);
    return described ? made : NULL;
}

/* --- when to inspect --- */

struct inspecting {
    struct inspector inspector;
    uint64_t inspected; /* the last iteration of the last inspection; 0: none */
    bool weights;       /* that inspection measured the weights */
};

/* Publishes the error of an inspection; the run continues. */
static void report_error(struct trainer *trainer, const struct error *failed)
{
    trainer->now.error = *failed;
    trainer_publish(trainer);
}

static double iteration_seconds(const struct trainer *trainer)
{
    return tempo_median(&trainer->tempo) * 1e-3 * (double)trainer->settings.training.batch;
}

/* Returns how long an automatic inspection may delay the run. */
static double most_seconds(const struct trainer *trainer)
{
    return fmin(0.01 * trainer_seconds(trainer, clock_nanoseconds()), 1);
}

/* Begins an inspection that is worth its time. It leaves out the weights if there are too many, but
 * never replaces an inspection that has them, because the user asked for that one. */
static bool begin_inspection(struct inspecting *inspecting, struct trainer *trainer, bool after_end)
{
    const double overhead = 2e-3; /* seconds: a generous estimate for writing the file */
    const double most = most_seconds(trainer);
    const struct inspector_request request = {
        .done = trainer->moment.iteration - after_end,
        .until_end = !after_end,
        .weights = overhead + weights_seconds(&trainer->prepared) <= most,
        .after_end = after_end};
    struct error failed;
    if (most < overhead || (inspecting->weights && !request.weights))
        return false;
    if (begin_profiles(&inspecting->inspector, &trainer->prepared, &request, &failed))
        return true;
    report_error(trainer, &failed);
    return false;
}

/* Returns how many iterations will probably follow. */
static uint64_t iterations_left(const struct trainer *trainer)
{
    const uint64_t done = trainer->moment.iteration, per_epoch = trainer->prepared.per_epoch;
    const uint64_t left = trainer->now.iterations - done, of_epoch = per_epoch - done % per_epoch;
    return trainer->stop_at_epoch && of_epoch < left ? of_epoch : left;
}

/* Begins an inspection if it will cover the run's last iterations. */
static void begin_last_inspection(struct inspecting *inspecting, struct trainer *trainer)
{
    const uint64_t left = iterations_left(trainer);
    if (!is_active(&inspecting->inspector) && left <= INSPECTOR_ITERATIONS &&
        (left == 1 || (double)left * iteration_seconds(trainer) <= INSPECTOR_SECONDS))
        begin_inspection(inspecting, trainer, false);
}

/* Publishes the result of an inspection if it is complete or `last` is true, even if it has fewer
 * iterations than requested. */
static void finish_inspection(struct inspecting *inspecting, struct trainer *trainer, bool last)
{
    struct error failed;
    const uint64_t began = clock_nanoseconds();
    if (!is_complete(&inspecting->inspector, last))
        return;
    struct inspection *seen = end_profiles(&inspecting->inspector, &trainer->prepared, &failed);
    const bool good = seen && inspection_save(seen, trainer->run->directory, &failed);
    if (seen) {
        inspecting->inspected = seen->iteration + seen->iterations - 1;
        inspecting->weights = seen->networks[0].tensor_count > 0;
        const uint64_t took = clock_nanoseconds() - began;
        trainer->clock.iteration += took;
        seen->cost += 1e-9 * (double)took;
        run_state_put_inspection(trainer->run, seen);
    }
    if (!good)
        report_error(trainer, &failed);
}

/* --- during the iterations --- */

/* Measures the weights, outside the time of the iteration. */
static void before_step(void *state, struct trainer *trainer)
{
    struct inspecting *inspecting = state;
    begin_last_inspection(inspecting, trainer);
    if (!is_active(&inspecting->inspector))
        return;
    const uint64_t began = clock_nanoseconds();
    execution_wait(trainer_execution(trainer));
    trainer->clock.in_flight = false;
    trainer->clock.iteration += clock_nanoseconds() - began;
    trainer->clock.iteration += measure_before_step(&inspecting->inspector, &trainer->prepared);
}

static void after_step(void *state, struct trainer *trainer)
{
    struct inspecting *inspecting = state;
    if (is_active(&inspecting->inspector))
        trainer->clock.iteration +=
            measure_after_step(&inspecting->inspector, &trainer->prepared, trainer->batch.count);
}

static void after_iteration(void *state, struct trainer *trainer, struct iteration *iteration)
{
    struct inspecting *inspecting = state;
    if (iteration->diverged || !is_active(&inspecting->inspector))
        return;
    trainer->clock.in_flight = false; /* a profile has waited for every pass */
    finish_inspection(inspecting, trainer, false);
}

static void obey(void *state, struct trainer *trainer, const struct commands *commands)
{
    struct error failed;
    struct inspecting *inspecting = state;
    const struct inspector_request request = {.done = trainer->moment.iteration, .weights = true};
    if (commands_have(commands, COMMAND_INSPECT) &&
        !begin_profiles(&inspecting->inspector, &trainer->prepared, &request, &failed))
        report_error(trainer, &failed);
}

/* --- the end --- */

static void trained(void *state, struct trainer *trainer)
{
    finish_inspection(state, trainer, true);
}

/* Measures the last iteration of a run that was stopped unexpectedly: repeats it. Everything is
 * saved by then, because the weights continue to change. Does nothing if the last iterations have
 * been measured. */
static void afterwards(void *state, struct trainer *trainer, enum run_status status)
{
    struct inspecting *inspecting = state;
    struct inspector *inspector = &inspecting->inspector;
    struct preparation *prepared = &trainer->prepared;
    const double each = iteration_seconds(trainer), most = most_seconds(trainer);
    if ((status != RUN_DONE && status != RUN_STOPPED) || trainer->batch.count == 0 ||
        inspecting->inspected == trainer->moment.iteration || !(each > 0 && each <= most) ||
        !trainer_owns_folder(trainer, true))
        return;
    abandon(inspector, prepared); /* one that has measured nothing yet */
    if (!begin_inspection(inspecting, trainer, true))
        return;
    const uint64_t began = clock_nanoseconds();
    do {
        measure_before_step(inspector, prepared);
        if (!loop_repeat_step(trainer))
            return;
        measure_after_step(inspector, prepared, trainer->batch.count);
    } while (clock_seconds(began, clock_nanoseconds()) + each <= most &&
             !is_complete(inspector, false));
    finish_inspection(inspecting, trainer, true);
}

static void close_inspector(void *state, struct trainer *trainer)
{
    struct inspecting *inspecting = state;
    abandon(&inspecting->inspector, &trainer->prepared);
}

const struct observer observer_inspector = {.name = "inspector",
                                            .state_bytes = sizeof(struct inspecting),
                                            .before_step = before_step,
                                            .after_step = after_step,
                                            .after_iteration = after_iteration,
                                            .obey = obey,
                                            .trained = trained,
                                            .afterwards = afterwards,
                                            .close = close_inspector};

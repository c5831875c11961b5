/* The networks of the method are inspected: one, or a generator and its discriminator, whose two
 * executions (trained and frozen) share a profile. */
#include "session/prepare/inspector.h"

#include "base/clock.h"
#include "base/host/host.h"
#include "base/memory.h"
#include "engine/ops/op.h"
#include "engine/plan/roofline.h"
#include "session/prepare/inspect_weights.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)INSPECTION_NETWORKS == (int)METHOD_NETWORKS, "each network is inspected");

/* --- the start and the end of an inspection --- */

static void attach(struct inspector *inspector, struct preparation *prepared, bool on)
{
    struct profile *const none[INSPECTION_NETWORKS] = {NULL};
    method_set_profiles(&prepared->method, on ? inspector->profiles : none);
}

void inspector_abandon(struct inspector *inspector, struct preparation *prepared)
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

bool inspector_begin(struct inspector *inspector, struct preparation *prepared,
                     const struct inspector_request *request, struct error *error)
{
    struct method_network subjects[INSPECTION_NETWORKS];
    if (inspector_is_active(inspector))
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
            inspector_abandon(inspector, prepared);
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

double inspector_weights_seconds(const struct preparation *prepared)
{
    const double seconds_per_value = 3e-8; /* 6e-9 on an idle core, 2.4e-8 on a busy one */
    struct method_network subjects[INSPECTION_NETWORKS];
    const size_t count = method_networks(&prepared->method, subjects);
    double values = 0;
    for (size_t i = 0; i < count; i++)
        values += (double)subjects[i].plan->graph->total_floats;
    return values * seconds_per_value;
}

bool inspector_is_complete(const struct inspector *inspector, bool last)
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

uint64_t inspector_before(struct inspector *inspector, struct preparation *prepared)
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

uint64_t inspector_after(struct inspector *inspector, struct preparation *prepared, size_t images)
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
    for (size_t i = 0; i < plan->array_count; i++)
        if (plan->arrays[i].node == node && plan->arrays[i].kind != PLAN_GRADIENT)
            bytes += plan->arrays[i].bytes;
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

/* Views are left out, unless they are fused into another layer: a reader wants to see that those
 * cost nothing. */
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
    arena->times = plan->order_count;
    arena->bytes = plan->arena_bytes;
    arena->workspace = plan->arena_bytes - plan->workspace;
    arena->arrays = memory_new(plan->array_count, sizeof *arena->arrays, "a profile", error);
    if (!arena->arrays)
        return false;
    arena->array_count = plan->array_count;
    for (size_t i = 0; i < plan->array_count; i++) {
        const struct plan_array *array = &plan->arrays[i];
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

struct inspection *inspector_end(struct inspector *inspector, struct preparation *prepared,
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
    inspector_abandon(inspector, prepared);
    return described ? made : NULL;
}

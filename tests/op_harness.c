#include "op_harness.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/threads/pool.h"
#include "random_fill.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the graph of a case: inputs of the case's shapes, and the operator --- */

static bool infer_source(struct graph *graph, struct node *node, const struct shape *inputs,
                         struct error *error)
{
    (void)graph, (void)inputs, (void)error;
    const struct window *size = &node->attributes.conv.window;
    node->output =
        (struct shape){node->attributes.conv.outputs, size->kernel_height, size->kernel_width};
    return true;
}

static const struct op op_source = {.name = "source", .infer = infer_source};

static bool build_graph(struct op_harness *h, struct error *error)
{
    const struct op_case *c = h->op_case;
    size_t sources[NODE_MAX_INPUTS] = {0}, number;
    if (!graph_create(&h->graph, c->inputs[0], error))
        return false;
    for (size_t k = 1; k < c->input_count; k++) {
        char name[32];
        union attributes shape = {
            .conv = {.outputs = c->inputs[k].channels,
                     .window = {c->inputs[k].height, c->inputs[k].width, 1, 1, 0, 0}}};
        snprintf(name, sizeof name, "source%zu", k);
        if (!graph_add(&h->graph, &op_source, name, sources, 0, &shape, &sources[k], error))
            return false;
    }
    if (!graph_add(&h->graph, c->op, "case", sources, c->input_count, &c->attributes, &number,
                   error) ||
        !graph_finish(&h->graph, error))
        return false;
    h->node = &h->graph.nodes[number];
    return true;
}

/* --- memory --- */

static const char *const input_names[] = {"input 0", "input 1", "input 2", "input 3",
                                          "input 4", "input 5", "input 6", "input 7"};
static const char *const gradient_names[] = {
    "input gradient 0", "input gradient 1", "input gradient 2", "input gradient 3",
    "input gradient 4", "input gradient 5", "input gradient 6", "input gradient 7"};

const struct op_harness_device *op_harness_device;

/* `alignment` is the one that kernels may rely on; a plan aligns arrays at least so. */
static void *new_memory(size_t bytes, size_t alignment, enum guarded_side side, const char *name,
                        struct error *error)
{
    void *memory = op_harness_device ? op_harness_device->allocate(bytes)
                                     : guarded_new(bytes, alignment, side, name);
    if (!memory)
        error_set_memory(error, name, bytes);
    return memory;
}

/* Arrays of floats end exactly at the guard page: no kernel may rely on more than the alignment of
 * a float. */
static bool new_floats(float **out, size_t count, enum guarded_side side, const char *name,
                       struct error *error)
{
    *out = new_memory(count * sizeof **out, sizeof **out, side, name, error);
    return *out;
}

static void release(void *memory)
{
    if (op_harness_device)
        op_harness_device->release(memory);
    else
        guarded_free(memory);
}

static void wait_for_device(void)
{
    if (op_harness_device)
        op_harness_device->finish(op_harness_device->context);
}

static bool allocate(struct op_harness *h, struct error *error)
{
    const size_t batch = h->op_case->batch;
    bool loss = h->op_case->op->traits & OP_LOSS;
    size_t largest = h->output_values = batch * shape_count(h->node->output);
    bool good = new_floats(&h->output, h->output_values, h->side, "the output", error) &&
                (loss || new_floats(&h->output_gradient, h->output_values, h->side,
                                    "the output's gradient", error));
    for (size_t k = 0; good && k < h->input_count; k++) {
        size_t count = h->input_values[k] = batch * shape_count(h->op_case->inputs[k]);
        largest = count > largest ? count : largest;
        good = new_floats(&h->inputs[k], count, h->side, input_names[k], error) &&
               new_floats(&h->input_gradients[k], count, h->side, gradient_names[k], error);
    }
    for (size_t p = 0; good && p < h->parameter_count; p++) {
        const struct parameter *parameter = &h->graph.parameters[h->node->parameters[p]];
        size_t count = h->parameter_values[p] = parameter->count;
        h->learnable[p] = parameter->learnable;
        good = new_floats(&h->parameters[p], count, h->side, "a parameter", error) &&
               new_floats(&h->updated[p], count, h->side, "a parameter", error) &&
               (!parameter->learnable || new_floats(&h->parameter_gradients[p], count, h->side,
                                                    "a parameter's gradient", error));
    }
    if (good && (h->op_case->op->traits & OP_READS_LABELS))
        good = (h->labels = new_memory(batch * sizeof *h->labels, sizeof *h->labels, h->side,
                                       "the labels", error));
    return good && new_floats(&h->base, largest, h->side, "gradients to be added to", error);
}

void op_harness_free(struct op_harness *h)
{
    if (!h)
        return;
    for (size_t k = 0; k < NODE_MAX_INPUTS; k++) {
        release(h->inputs[k]);
        release(h->input_gradients[k]);
    }
    for (size_t p = 0; p < NODE_MAX_PARAMETERS; p++) {
        release(h->parameters[p]);
        release(h->parameter_gradients[p]);
        release(h->updated[p]);
    }
    release(h->output);
    release(h->output_gradient);
    release(h->base);
    release(h->labels);
    graph_free(&h->graph);
    free(h);
}

/* --- random contents --- */

static void fill(uint64_t seed, uint32_t stream, float low, float high, float *out, size_t count)
{
    random_fill_uniform(seed, RANDOM_TEST, stream, low, high, out, count);
}

static void fill_inputs(struct op_harness *h, uint64_t seed, enum op_values values)
{
    const unsigned flags = h->op_case->flags;
    const float range = flags & CASE_LARGE ? 200.0f : 2.0f;
    for (size_t k = 0; k < h->input_count; k++) {
        bool probability = k == 1 && (flags & CASE_UNIT_TARGET);
        fill(seed, (uint32_t)k, probability ? 0 : -range, probability ? 1 : range, h->inputs[k],
             h->input_values[k]);
        for (size_t i = 0; (flags & CASE_TIES) && i < h->input_values[k]; i++)
            h->inputs[k][i] = roundf(2 * h->inputs[k][i]) / 2;
        if (!probability)
            op_values_fill(values, seed, (uint32_t)k, h->inputs[k], h->input_values[k]);
    }
}

static void fill_given(struct op_harness *h, uint64_t seed, enum op_values values)
{
    fill_inputs(h, seed, values);
    for (size_t p = 0; p < h->parameter_count; p++) {
        const char *name = h->graph.parameters[h->node->parameters[p]].name;
        bool variance = strstr(name, "running_var");
        fill(seed, 100 + (uint32_t)p, variance ? 0.5f : -1, variance ? 1.5f : 1, h->parameters[p],
             h->parameter_values[p]);
    }
    if (h->output_gradient)
        fill(seed, 200, -1, 1, h->output_gradient, h->output_values);
    for (size_t n = 0; h->labels && n < h->op_case->batch; n++)
        h->labels[n] = (int32_t)(random_philox(seed, RANDOM_TEST, 201, n).word[0] %
                                 h->op_case->inputs[0].channels);
    size_t largest = h->output_values;
    for (size_t k = 0; k < h->input_count; k++)
        largest = h->input_values[k] > largest ? h->input_values[k] : largest;
    fill(seed, 202, -1, 1, h->base, largest);
}

struct op_harness *op_harness_create(const struct op_case *op_case, uint64_t seed,
                                     struct error *error)
{
    const struct op_harness_setup setup = {.seed = seed};
    return op_harness_create_as(op_case, &setup, error);
}

struct op_harness *op_harness_create_as(const struct op_case *op_case,
                                        const struct op_harness_setup *setup, struct error *error)
{
    struct op_harness *h = memory_new(1, sizeof *h, "a test", error);
    if (!h)
        return NULL;
    h->op_case = op_case;
    h->side = setup->side;
    h->input_count = op_case->input_count;
    bool good = build_graph(h, error);
    if (good)
        h->parameter_count = h->node->parameter_count;
    if (!good || !allocate(h, error)) {
        op_harness_free(h);
        return NULL;
    }
    fill_given(h, setup->seed, setup->values);
    return h;
}

/* --- running --- */

struct kernel_site op_harness_site(const struct op_harness *h, size_t threads)
{
    struct kernel_site site = {.node = h->node,
                               .batch = h->op_case->batch,
                               .training = !(h->op_case->flags & CASE_INFERENCE),
                               .threads = threads,
                               .output_layout = {.channels_last = h->output_last}};
    if (op_harness_device)
        site.context = op_harness_device->context;
    for (size_t k = 0; k < h->input_count; k++) {
        site.inputs[k] = h->op_case->inputs[k];
        site.input_gradient[k] = site.training;
        site.layouts[k].channels_last = h->inputs_last;
    }
    return site;
}

/* The arrays of one run of a kernel. */
struct run {
    struct kernel_site site;
    struct kernel_call call;
    float *nowhere; /* NaN, for arrays that the kernel must not read */
    float *in_place, *gradient_in_place;
    size_t saved_bytes, workspace_bytes;
};

static void poison(void *memory, size_t bytes)
{
    memset(memory, 0xff, bytes); /* NaN as floats, -1 as positions */
}

static bool prepare(struct run *run, struct op_harness *h, const struct kernel *kernel,
                    struct pool *pool, struct error *error)
{
    size_t largest = h->output_values;
    *run = (struct run){.site = op_harness_site(h, pool ? pool_threads(pool) : 1)};
    run->saved_bytes = kernel->saved_bytes ? kernel->saved_bytes(&run->site) : 0;
    run->workspace_bytes = kernel->workspace_bytes ? kernel->workspace_bytes(&run->site) : 0;
    for (size_t k = 0; k < h->input_count; k++)
        largest = h->input_values[k] > largest ? h->input_values[k] : largest;
    run->call = (struct kernel_call){.output = h->output,
                                     .output_gradient = h->output_gradient,
                                     .labels = h->labels,
                                     .seed = HARNESS_SEED,
                                     .iteration = HARNESS_ITERATION,
                                     .node_number = (size_t)(h->node - h->graph.nodes),
                                     .pool = pool,
                                     .workspace_bytes = run->workspace_bytes};
    if (op_harness_device)
        run->call.context = op_harness_device->context;
    bool good = new_floats(&run->nowhere, largest, h->side, "an array not to be read", error) &&
                new_floats(&run->in_place, h->input_values[0], h->side, "input 0", error) &&
                new_floats(&run->gradient_in_place, h->input_values[0], h->side,
                           "the output's gradient", error);
    if (good && run->saved_bytes)
        good = (run->call.saved =
                    new_memory(run->saved_bytes, MEMORY_ALIGNMENT, h->side, "saved data", error));
    if (good && run->workspace_bytes)
        good = (run->call.workspace = new_memory(run->workspace_bytes, MEMORY_ALIGNMENT, h->side,
                                                 "the workspace", error));
    if (!good)
        return false;
    poison(run->nowhere, largest * sizeof *run->nowhere);
    poison(run->call.saved ? run->call.saved : run->nowhere, run->saved_bytes);
    poison(h->output, h->output_values * sizeof *h->output);
    for (size_t k = 0; k < h->input_count; k++)
        run->call.inputs[k] = h->inputs[k];
    for (size_t p = 0; p < h->parameter_count; p++) {
        memcpy(h->updated[p], h->parameters[p], h->parameter_values[p] * sizeof(float));
        run->call.parameters[p] = h->updated[p];
    }
    return true;
}

/* Returns false with an error if the kernel wrote outside of an array. */
static bool stayed_inside(const struct kernel *kernel, struct error *error)
{
    const char *array = op_harness_device ? NULL : guarded_changed();
    return !array || error_set(error, ERROR_INPUT, kernel->name, NULL,
                               "bytes next to %s were written", array);
}

static void describe(const struct op_harness *h, const struct kernel *kernel)
{
    char text[200];
    snprintf(text, sizeof text, "%s by %s (%s)", h->op_case->name, kernel->name,
             kernel->instruction_set);
    guarded_describe(text);
}

static void finish(struct run *run)
{
    release(run->nowhere);
    release(run->in_place);
    release(run->gradient_in_place);
    release(run->call.saved);
    release(run->call.workspace);
}

static void run_forward(struct run *run, struct op_harness *h, const struct kernel *kernel,
                        unsigned options)
{
    bool kept = run->site.training && (kernel->traits & KERNEL_BACKWARD_READS_INPUT);
    bool in_place = (options & HARNESS_IN_PLACE) && (kernel->traits & KERNEL_IN_PLACE) && !kept;
    if (in_place) {
        memcpy(run->in_place, h->inputs[0], h->input_values[0] * sizeof(float));
        run->call.inputs[0] = run->call.output = run->in_place;
    }
    run->call.site = &run->site;
    if (run->call.workspace)
        poison(run->call.workspace, run->workspace_bytes);
    kernel->forward(&run->call);
    wait_for_device();
    if (in_place)
        memcpy(h->output, run->in_place, h->output_values * sizeof(float));
}

static void begin_gradients(struct run *run, struct op_harness *h, unsigned options)
{
    for (size_t k = 0; k < h->input_count; k++) {
        size_t bytes = h->input_values[k] * sizeof(float);
        run->call.accumulate[k] = options & HARNESS_ACCUMULATE;
        if (run->call.accumulate[k])
            memcpy(h->input_gradients[k], h->base, bytes);
        else
            poison(h->input_gradients[k], bytes);
        run->call.input_gradients[k] =
            options & HARNESS_NO_INPUT_GRADIENTS ? NULL : h->input_gradients[k];
    }
    for (size_t p = 0; p < h->parameter_count; p++) {
        run->call.parameter_gradients[p] = h->parameter_gradients[p];
        if (h->parameter_gradients[p])
            poison(h->parameter_gradients[p], h->parameter_values[p] * sizeof(float));
    }
}

static void run_backward(struct run *run, struct op_harness *h, const struct kernel *kernel,
                         unsigned options)
{
    bool in_place = (options & HARNESS_GRADIENT_IN_PLACE) &&
                    (kernel->traits & KERNEL_GRADIENT_IN_PLACE) &&
                    !(options & (HARNESS_ACCUMULATE | HARNESS_NO_INPUT_GRADIENTS));
    begin_gradients(run, h, options);
    if (in_place) {
        memcpy(run->gradient_in_place, h->output_gradient, h->output_values * sizeof(float));
        run->call.output_gradient = run->call.input_gradients[0] = run->gradient_in_place;
    }
    for (size_t k = 0; !(kernel->traits & KERNEL_BACKWARD_READS_INPUT) && k < h->input_count; k++)
        run->call.inputs[k] = run->nowhere;
    if (!(kernel->traits & KERNEL_BACKWARD_READS_OUTPUT))
        run->call.output = run->nowhere;
    if (run->call.workspace)
        poison(run->call.workspace, run->workspace_bytes);
    kernel->backward(&run->call);
    wait_for_device();
    if (in_place)
        memcpy(h->input_gradients[0], run->gradient_in_place, h->input_values[0] * sizeof(float));
}

bool op_harness_run(struct op_harness *h, const struct kernel *kernel, unsigned options,
                    struct pool *pool, struct error *error)
{
    struct run run;
    describe(h, kernel);
    bool good = prepare(&run, h, kernel, pool, error);
    if (good)
        run_forward(&run, h, kernel, options);
    if (good && run.site.training)
        run_backward(&run, h, kernel, options);
    good = good && stayed_inside(kernel, error);
    finish(&run);
    return good;
}

bool op_harness_forward(struct op_harness *h, const struct kernel *kernel, struct pool *pool,
                        struct error *error)
{
    struct run run;
    describe(h, kernel);
    bool good = prepare(&run, h, kernel, pool, error);
    if (good)
        run_forward(&run, h, kernel, 0);
    good = good && stayed_inside(kernel, error);
    finish(&run);
    return good;
}

/* --- comparing --- */

double harness_difference(const float *got, const float *wanted, size_t count)
{
    double largest = 0, difference = 0;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(got[i]) || !isfinite(wanted[i]))
            return INFINITY;
        const double size = fabs(wanted[i]), apart = fabs((double)got[i] - wanted[i]);
        largest = size > largest ? size : largest; /* fmax() would be a call */
        difference = apart > difference ? apart : difference;
    }
    return difference / (largest + 1e-2);
}

static void compare_array(const float *got, const float *wanted, size_t count, const char *name,
                          double *worst, const char **where)
{
    double difference = harness_difference(got, wanted, count);
    if (difference >= *worst) {
        *worst = difference;
        *where = name;
    }
}

double op_harness_compare(const struct op_harness *got, const struct op_harness *wanted,
                          const char **where)
{
    bool training = !(got->op_case->flags & CASE_INFERENCE);
    double worst = 0;
    compare_array(got->output, wanted->output, got->output_values, "output", &worst, where);
    for (size_t k = 0; training && k < got->input_count; k++)
        compare_array(got->input_gradients[k], wanted->input_gradients[k], got->input_values[k],
                      gradient_names[k], &worst, where);
    for (size_t p = 0; p < got->parameter_count; p++) {
        const char *name = got->graph.parameters[got->node->parameters[p]].name;
        if (got->learnable[p] && training)
            compare_array(got->parameter_gradients[p], wanted->parameter_gradients[p],
                          got->parameter_values[p], name, &worst, where);
        compare_array(got->updated[p], wanted->updated[p], got->parameter_values[p], name, &worst,
                      where);
    }
    return worst;
}

static bool same_bits(const float *a, const float *b, size_t count)
{
    return memcmp(a, b, count * sizeof *a) == 0;
}

bool op_harness_same(const struct op_harness *a, const struct op_harness *b)
{
    bool training = !(a->op_case->flags & CASE_INFERENCE);
    bool same = same_bits(a->output, b->output, a->output_values);
    for (size_t k = 0; training && k < a->input_count; k++)
        same &= same_bits(a->input_gradients[k], b->input_gradients[k], a->input_values[k]);
    for (size_t p = 0; p < a->parameter_count; p++) {
        same &= same_bits(a->updated[p], b->updated[p], a->parameter_values[p]);
        if (training && a->learnable[p])
            same &= same_bits(a->parameter_gradients[p], b->parameter_gradients[p],
                              a->parameter_values[p]);
    }
    return same;
}

/* --- the contract --- */

/* Subtracts the initial values of HARNESS_ACCUMULATE, which leaves the gradients. */
static void take_base_away(struct op_harness *h)
{
    for (size_t k = 0; k < h->input_count; k++)
        for (size_t i = 0; i < h->input_values[k]; i++)
            h->input_gradients[k][i] -= h->base[i];
}

static void copy_input_gradients(struct op_harness *to, const struct op_harness *from)
{
    for (size_t k = 0; k < to->input_count; k++)
        memcpy(to->input_gradients[k], from->input_gradients[k],
               to->input_values[k] * sizeof(float));
}

static bool check_option(struct op_harness *plain, struct op_harness *other,
                         const struct kernel *kernel, unsigned option, struct pool *pool, char *why,
                         size_t size)
{
    static const char *const names[] = {"in place", "gradient in place", "accumulating",
                                        "without input gradients"};
    size_t name = 0;
    const char *where = "";
    struct error error;
    if (!op_harness_run(other, kernel, option, pool, &error)) {
        snprintf(why, size, "%s", error.why);
        return false;
    }
    while (option >> name != 1)
        name++;
    if (option == HARNESS_ACCUMULATE)
        take_base_away(other);
    if (option == HARNESS_NO_INPUT_GRADIENTS)
        copy_input_gradients(other, plain);
    double difference = op_harness_compare(other, plain, &where);
    if (difference <= 1e-5)
        return true;
    snprintf(why, size, "%s: %s differs by %g", names[name], where, difference);
    return false;
}

static bool all_finite(const struct op_harness *plain, char *why, size_t size)
{
    const char *where = "";
    if (op_harness_compare(plain, plain, &where) == 0)
        return true;
    snprintf(why, size, "%s: a value was not written, or an unwritten value was read", where);
    return false;
}

bool op_harness_check_contract(const struct op_case *op_case, const struct kernel *kernel,
                               struct pool *pool, char *why, size_t size)
{
    struct error error = {.why = "no memory"};
    struct op_harness *plain = op_harness_create(op_case, 1, &error);
    const struct op_harness_setup at_start = {.seed = 1, .side = GUARDED_START};
    struct op_harness *other = op_harness_create_as(op_case, &at_start, &error);
    bool good = plain && other && op_harness_run(plain, kernel, 0, pool, &error);
    if (!good)
        snprintf(why, size, "%s: %s", error.what, error.why);
    good = good && all_finite(plain, why, size);
    for (unsigned option = HARNESS_IN_PLACE; good && option <= HARNESS_NO_INPUT_GRADIENTS;
         option <<= 1)
        good = check_option(plain, other, kernel, option, pool, why, size);
    op_harness_free(plain);
    op_harness_free(other);
    return good;
}

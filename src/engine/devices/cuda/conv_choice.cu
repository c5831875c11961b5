/* Measures or ranks the algorithms for the passes of a convolution, and remembers them by shape.
 *
 * A measurement replays a CUDA graph of several runs on arrays of random values, as training will:
 * what the host needs to start a kernel does not count. The cache has a line for each shape and
 * pass, so that later runs choose the same, and compute the same bits. */
#include "engine/devices/cuda/conv_choice.h"

#include "engine/devices/cuda/conv.h"
#include "engine/devices/cuda/epilogue.h"

#include <algorithm>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- options --- */

enum conv_source conv_own_source(const struct kernel_site *site, enum dnn_pass pass)
{
    return pass != DNN_WEIGHTS && conv_is_pointwise(site) ? CONV_BY_PRODUCTS : CONV_BY_GENERAL;
}

static_assert((int)DNN_FORWARD == CONV_FORWARD && (int)DNN_INPUT == CONV_INPUT &&
                  (int)DNN_WEIGHTS == CONV_WEIGHTS,
              "passes of cuDNN and of products have the same order");

bool conv_may_use_cudnn(const struct cuda_context *context)
{
    return context && context->dnn && context->precision != CUDA_BF16;
}

/* Returns whether there is more than one way to compute the site's passes. */
static bool has_choice(const struct cuda_context *context, const struct kernel_site *site)
{
    return context && (conv_may_use_cudnn(context) || conv_is_pointwise_last(site));
}

bool conv_needs(const struct kernel_site *site, enum dnn_pass pass)
{
    return pass == DNN_FORWARD ||
           (site->training && (pass == DNN_WEIGHTS || site->input_gradient[0]));
}

/* Returns 8 MiB and twice the arrays of the layer, but at most 1 GiB or a sixteenth of a smaller
 * GPU's memory. The limit does not depend on the free memory, because the bits would. */
size_t conv_workspace_limit(const struct cuda_context *context, const struct kernel_site *site)
{
    const size_t values =
        site->batch * (shape_count(site->inputs[0]) + shape_count(site->node->output));
    const size_t arrays = ((size_t)8 << 20) + 2 * values * sizeof(float);
    const size_t most = std::min((size_t)1 << 30, context->memory_bytes / 16);
    return site->spare_workspace ? 0 : std::min(arrays, most);
}

static void list_options(struct cuda_context *context, const struct kernel_site *site,
                         enum dnn_pass pass, struct conv_choice *choice)
{
    struct dnn_option list[DNN_RANKED];
    const enum conv_source own = conv_own_source(site, pass);
    size_t count = 0;
    const size_t ranked =
        conv_may_use_cudnn(context) ? dnn_list(context->dnn, &choice->shape, pass, list) : 0;
    for (size_t i = 0; i < ranked; i++)
        choice->options[pass][count++] = {CONV_BY_CUDNN, list[i]};
    choice->options[pass][count++] = {own, {}};
    if (own != CONV_BY_GENERAL)
        choice->options[pass][count++] = {CONV_BY_GENERAL, {}};
    else if (conv_is_pointwise_last(site))
        choice->options[pass][count++] = {CONV_BY_PRODUCTS, {}};
    const size_t bytes = conv_wgmma_workspace(site, (enum conv_pass)pass);
    if (bytes > 0) /* the last: it is taken only where it was measured to be the fastest */
        choice->options[pass][count++] = {CONV_BY_WGMMA,
                                          {.algorithm = {}, .math = 0, .bytes = bytes}};
    choice->counts[pass] = count;
}

const struct conv_option *conv_choice_best(const struct conv_choice *choice, enum dnn_pass pass,
                                           size_t limit)
{
    for (size_t i = 0; i < choice->counts[pass]; i++) {
        const struct conv_option *option = &choice->options[pass][i];
        const bool refused = option->source == CONV_BY_CUDNN && choice->refused[pass];
        if (!refused && option->dnn.bytes <= limit)
            return option;
    }
    return NULL;
}

/* --- a pass --- */

static bool run_dnn(const struct kernel_call *call, const struct dnn_shape *shape,
                    enum dnn_pass pass, const struct dnn_option *option, bool *refused)
{
    if (!refused[pass])
        refused[pass] = !dnn_compute(call, shape, pass, option);
    return !refused[pass];
}

static bool forward_dnn(const struct kernel_call *call, const struct dnn_shape *shape,
                        const struct dnn_option *option, bool *refused)
{
    if (dnn_fuses(call->site, option) && run_dnn(call, shape, DNN_FUSED, option, refused))
        return true;
    if (!run_dnn(call, shape, DNN_FORWARD, option, refused))
        return false;
    epilogue_forward(call, conv_bias(call));
    return true;
}

static bool weights_dnn(const struct kernel_call *call, const struct dnn_shape *shape,
                        const struct dnn_option *option, bool *refused)
{
    if (!run_dnn(call, shape, DNN_WEIGHTS, option, refused))
        return false;
    if (call->site->node->attributes.conv.bias && call->parameter_gradients[1])
        conv_backward_bias(call);
    return true;
}

static void run_own(const struct kernel_call *call, enum dnn_pass pass, enum conv_source source)
{
    if (source == CONV_BY_PRODUCTS || source == CONV_BY_WGMMA)
        conv_products_run(call, (enum conv_pass)pass, source == CONV_BY_WGMMA);
    else if (pass == DNN_FORWARD)
        conv_forward(call);
    else if (pass == DNN_INPUT)
        conv_backward_input(call);
    else
        conv_backward_weights(call);
}

bool conv_run(const struct kernel_call *call, const struct dnn_shape *shape, enum dnn_pass pass,
              const struct conv_option *option, bool *refused)
{
    if (option->source == CONV_BY_CUDNN)
        return pass == DNN_FORWARD ? forward_dnn(call, shape, &option->dnn, refused)
               : pass == DNN_INPUT ? run_dnn(call, shape, pass, &option->dnn, refused)
                                   : weights_dnn(call, shape, &option->dnn, refused);
    run_own(call, pass, option->source);
    return true;
}

/* --- measuring --- */

enum {
    RUNS = 4,
    REPLAYS = 3
}; /* runs of a graph; how often it is replayed, the first time to warm up */

/* Arrays for the passes of a site, and a call with them. */
struct trial {
    struct kernel_site site;
    struct kernel_call call;
    void *memory;
    cudaEvent_t begin, end;
};

/* Fills an array with values in [-1, 1): zeros would take less energy, and so less time. */
static __global__ void fill_random(float *values, uint32_t count)
{
    for (uint32_t i = stride_first(); i < count; i += stride_step()) {
        const uint32_t mixed = (i * 2654435761u) ^ (i >> 7);
        values[i] = (float)(int32_t)(mixed * 2246822519u) * 0x1p-31f;
    }
}

static size_t aligned(size_t values)
{
    return (values + 63) / 64 * 64;
}

static size_t most_workspace(const struct cuda_context *context, const struct kernel_site *site,
                             const struct conv_choice *choice)
{
    const size_t limit = conv_workspace_limit(context, site);
    size_t most = 0;
    for (unsigned pass = 0; pass < DNN_PASSES; pass++)
        for (size_t i = 0; i < choice->counts[pass]; i++)
            if (choice->options[pass][i].dnn.bytes <= limit)
                most = std::max(most, choice->options[pass][i].dnn.bytes);
    return std::max(most + dnn_packed_bytes(site), conv_workspace(site));
}

static void close_trial(struct trial *t)
{
    if (t->begin)
        cudaEventDestroy(t->begin);
    if (t->end)
        cudaEventDestroy(t->end);
    cudaFree(t->memory);
    cudaGetLastError();
}

/* Allocates the arrays. Every layer with bias is measured with a relu, which nearly always follows
 * and which may be fused later: of the pointer, only whether it is NULL matters. Returns false if
 * there is no memory now. */
static bool open_trial(struct trial *t, struct cuda_context *context,
                       const struct kernel_site *site, const struct conv_choice *choice)
{
    const size_t in = aligned(site->batch * shape_count(site->inputs[0]));
    const size_t out = aligned(site->batch * shape_count(site->node->output));
    const size_t outputs = aligned(site->node->output.channels);
    const size_t weights =
        aligned((size_t)choice->shape.outputs * choice->shape.channels / choice->shape.groups *
                choice->shape.kernel[0] * choice->shape.kernel[1]);
    const size_t values = in + out + 2 * weights + 2 * outputs;
    *t = {};
    t->site = *site;
    t->site.fused_activation = site->node->attributes.conv.bias ? site->node : NULL;
    t->call.workspace_bytes = most_workspace(context, site, choice);
    if (values >= (size_t)1 << 32 ||
        cudaMalloc(&t->memory, values * sizeof(float) + t->call.workspace_bytes) != cudaSuccess ||
        cudaEventCreate(&t->begin) != cudaSuccess || cudaEventCreate(&t->end) != cudaSuccess) {
        close_trial(t);
        return false;
    }
    float *at = (float *)t->memory;
    launch(context, "random values", fill_random, stride_blocks(values), BLOCK, 0, at,
           (uint32_t)values);
    t->call.site = &t->site;
    t->call.context = context;
    t->call.inputs[0] = t->call.input_gradients[0] = at;
    t->call.output = at += in;
    t->call.output_gradient = t->call.output;
    t->call.parameters[0] = at += out;
    t->call.parameter_gradients[0] = at += weights;
    t->call.parameters[1] = at += weights;
    t->call.parameter_gradients[1] = at += outputs;
    t->call.workspace = at + outputs;
    return true;
}

/* Returns a graph of several runs, or NULL if the driver refuses it, or cuDNN the pass. */
static cudaGraphExec_t record_runs(const struct trial *t, enum dnn_pass pass,
                                   const struct conv_choice *choice,
                                   const struct conv_option *option)
{
    struct cuda_context *context = context_of(&t->call);
    bool refused[DNN_CALLS] = {};
    cudaGraph_t graph = NULL;
    cudaGraphExec_t runs = NULL;
    if (!conv_run(&t->call, &choice->shape, pass, option, refused) ||
        cudaStreamSynchronize(context->stream) != cudaSuccess ||
        cudaStreamBeginCapture(context->stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess)
        return NULL;
    bool computed = true;
    for (int i = 0; i < RUNS; i++)
        computed = conv_run(&t->call, &choice->shape, pass, option, refused) && computed;
    if (cudaStreamEndCapture(context->stream, &graph) != cudaSuccess || !computed ||
        cudaGraphInstantiate(&runs, graph, 0) != cudaSuccess)
        runs = NULL;
    if (graph)
        cudaGraphDestroy(graph);
    return runs;
}

/* Removes the failure of an option that cannot be captured from the context. A GPU that is lost
 * will fail again. */
static bool forgive(struct cuda_context *context)
{
    const bool failed = context->failure[0];
    context->failure[0] = '\0';
    context->failure_kind = CUDA_FINE;
    cudaGetLastError();
    return failed;
}

/* Returns the seconds of a run, infinity if the option does not work. */
static double measure_option(const struct trial *t, enum dnn_pass pass,
                             const struct conv_choice *choice, const struct conv_option *option)
{
    const cudaStream_t stream = context_of(&t->call)->stream;
    double best = INFINITY;
    cudaGraphExec_t runs = record_runs(t, pass, choice, option);
    for (int i = 0; runs && i < REPLAYS; i++) {
        float milliseconds = 0;
        if (cudaEventRecord(t->begin, stream) == cudaSuccess &&
            cudaGraphLaunch(runs, stream) == cudaSuccess &&
            cudaEventRecord(t->end, stream) == cudaSuccess &&
            cudaEventSynchronize(t->end) == cudaSuccess &&
            cudaEventElapsedTime(&milliseconds, t->begin, t->end) == cudaSuccess && i > 0)
            best = std::min(best, (double)milliseconds * 1e-3 / RUNS);
    }
    if (runs)
        cudaGraphExecDestroy(runs);
    /* where the driver has refused the operand's map, cuBLAS was measured a second time */
    const bool refused = option->source == CONV_BY_WGMMA &&
                         conv_wgmma_workspace(&t->site, (enum conv_pass)pass) == 0;
    return forgive(context_of(&t->call)) || refused ? (double)INFINITY : best;
}

/* --- the cache --- */

enum { KEY_SIZE = 160, VALUE_SIZE = 64 };

static void write_key(const struct dnn_shape *s, enum dnn_pass pass, char key[KEY_SIZE])
{
    static const char *const precisions[] = {"float32", "tf32", "bf16", "fp16"};
    static const char *const passes[] = {"forward", "input", "weights"};
    snprintf(key, KEY_SIZE,
             "conv %s %dx%dx%dx%d outputs %d kernel %dx%d stride %dx%d pad %dx%d groups %d%s %s %s",
             passes[pass], s->batch, s->channels, s->height, s->width, s->outputs, s->kernel[0],
             s->kernel[1], s->stride[0], s->stride[1], s->pad[0], s->pad[1], s->groups,
             s->bias ? " bias" : "", s->last ? "NHWC" : "NCHW", precisions[s->precision]);
}

static void write_option(const struct conv_option *option, char value[VALUE_SIZE])
{
    if (option->source == CONV_BY_CUDNN)
        snprintf(value, VALUE_SIZE, "cudnn algorithm %d math %d", option->dnn.algorithm,
                 option->dnn.math);
    else
        snprintf(value, VALUE_SIZE, "%s",
                 option->source == CONV_BY_PRODUCTS ? "products"
                 : option->source == CONV_BY_WGMMA  ? "wgmma"
                                                    : "general");
}

/* Moves the option of this name to the front. Returns false if there is none. */
static bool prefer(struct conv_choice *choice, enum dnn_pass pass, const char *value)
{
    char other[VALUE_SIZE];
    struct conv_option *const options = choice->options[pass];
    for (size_t i = 0; i < choice->counts[pass]; i++) {
        write_option(&options[i], other);
        if (strcmp(value, other) == 0) {
            std::rotate(options, options + i, options + i + 1);
            return true;
        }
    }
    return false;
}

static bool recall(const struct device_autotune *autotune, enum dnn_pass pass,
                   struct conv_choice *choice)
{
    char key[KEY_SIZE], value[VALUE_SIZE];
    write_key(&choice->shape, pass, key);
    return autotune->find(autotune, key, value, sizeof value) && prefer(choice, pass, value);
}

static void measure_pass(const struct trial *t, enum dnn_pass pass, struct conv_choice *choice)
{
    struct cuda_context *context = context_of(&t->call);
    const size_t limit = conv_workspace_limit(context, &t->site);
    char key[KEY_SIZE], value[VALUE_SIZE];
    double least = (double)INFINITY;
    size_t best = 0;
    for (size_t i = 0; i < choice->counts[pass]; i++) {
        const struct conv_option *option = &choice->options[pass][i];
        const double seconds =
            option->dnn.bytes > limit ? (double)INFINITY : measure_option(t, pass, choice, option);
        if (seconds < least) {
            least = seconds;
            best = i;
        }
    }
    choice->known[pass] = isfinite(least);
    if (!choice->known[pass])
        return;
    write_key(&choice->shape, pass, key);
    write_option(&choice->options[pass][best], value);
    prefer(choice, pass,
           value); /* moves it to the front, as a later run that reads the cache does */
    context->autotune->add(context->autotune, key, value, least);
}

/* Measures the passes of a site that are not known, each once; a pass that cannot be measured then
 * follows the heuristics as long as the device is open. */
static void measure(struct cuda_context *context, const struct kernel_site *site,
                    struct conv_choice *choice)
{
    struct trial t;
    bool wanted[DNN_PASSES], any = false;
    const bool recording = context->recording;
    for (unsigned pass = 0; pass < DNN_PASSES; pass++) {
        wanted[pass] =
            conv_needs(site, (enum dnn_pass)pass) && !choice->known[pass] && !choice->tried[pass];
        choice->tried[pass] = choice->tried[pass] || wanted[pass];
        any = any || wanted[pass];
    }
    if (!any || context->failure[0])
        return;
    cuda_enter(context);
    if (!open_trial(&t, context, site, choice))
        return;
    context->recording = true; /* a failure is the option's, not the group's */
    for (unsigned pass = 0; pass < DNN_PASSES; pass++)
        if (wanted[pass])
            measure_pass(&t, (enum dnn_pass)pass, choice);
    cudaStreamSynchronize(context->stream);
    close_trial(&t);
    context->recording = recording;
}

/* --- choices by shape --- */

void cuda_choices_free(struct cuda_context *context)
{
    struct conv_choices *list = &context->choices;
    for (size_t i = 0; i < list->count; i++)
        free(list->choices[i]);
    free(list->choices);
    *list = {};
}

static struct conv_choice *add_choice(struct conv_choices *list, const struct dnn_shape *shape)
{
    if (list->count == list->capacity) {
        const size_t capacity = 2 * list->capacity + 32;
        void *choices = realloc(list->choices, capacity * sizeof(struct conv_choice *));
        if (!choices)
            return NULL;
        list->choices = (struct conv_choice **)choices;
        list->capacity = capacity;
    }
    struct conv_choice *choice = (struct conv_choice *)calloc(1, sizeof *choice);
    if (choice) {
        choice->shape = *shape;
        list->choices[list->count++] = choice;
    }
    return choice;
}

/* Returns the choice of this shape, or NULL if there is none. */
static struct conv_choice *known_choice(const struct conv_choices *list,
                                        const struct dnn_shape *shape)
{
    for (size_t i = 0; i < list->count; i++)
        if (memcmp(&list->choices[i]->shape, shape, sizeof *shape) == 0)
            return list->choices[i];
    return NULL;
}

/* Returns the choice that a plan made for a larger batch, of which this one is a part: that of the
 * smallest larger batch of the shape, for training or not. NULL if there is none. */
static const struct conv_choice *planned_choice(const struct conv_choices *list,
                                                struct dnn_shape shape, bool training)
{
    const int batch = shape.batch;
    const struct conv_choice *found = NULL;
    for (size_t i = 0; i < list->count; i++) {
        const struct conv_choice *choice = list->choices[i];
        shape.batch = choice->shape.batch;
        if (shape.batch > batch && choice->known[DNN_WEIGHTS] == training &&
            (!found || shape.batch < found->shape.batch) &&
            memcmp(&choice->shape, &shape, sizeof shape) == 0)
            found = choice;
    }
    return found;
}

/* Returns the choice of the site's shape; cuDNN is asked only once for each. */
static struct conv_choice *choice_of(struct cuda_context *context, const struct kernel_site *site)
{
    const struct dnn_shape shape = dnn_shape_of(context, site);
    struct conv_choice *choice = known_choice(&context->choices, &shape);
    if (choice || !(choice = add_choice(&context->choices, &shape)))
        return choice;
    cuda_enter(context);
    for (unsigned pass = 0; pass < DNN_PASSES; pass++)
        list_options(context, site, (enum dnn_pass)pass, choice);
    return choice;
}

/* Looks the needed passes up in the cache. Returns whether all are known then. */
static bool recall_passes(const struct cuda_context *context, const struct kernel_site *site,
                          struct conv_choice *choice)
{
    bool all = true;
    for (unsigned pass = 0; pass < DNN_PASSES; pass++) {
        if (!choice->known[pass] && conv_needs(site, (enum dnn_pass)pass))
            choice->known[pass] = recall(context->autotune, (enum dnn_pass)pass, choice);
        all = all && (choice->known[pass] || !conv_needs(site, (enum dnn_pass)pass));
    }
    return all;
}

struct conv_choice *conv_choice_plan(struct cuda_context *context, const struct kernel_site *site)
{
    struct conv_choice *choice = has_choice(context, site) ? choice_of(context, site) : NULL;
    if (choice && context->autotune && !recall_passes(context, site, choice) &&
        context->autotune->measures && !site->spare_workspace && !site->only_forecast)
        measure(context, site, choice);
    return choice;
}

struct conv_choice *conv_choice_find(struct cuda_context *context, const struct kernel_site *site)
{
    const struct dnn_shape shape = dnn_shape_of(context, site);
    if (!has_choice(context, site))
        return NULL;
    struct conv_choice *choice = known_choice(&context->choices, &shape);
    if (choice)
        return choice;
    const struct conv_choice *planned = planned_choice(&context->choices, shape, site->training);
    choice = choice_of(context, site);
    for (unsigned pass = 0; choice && planned && pass < DNN_PASSES; pass++) {
        char value[VALUE_SIZE];
        write_option(&planned->options[pass][0], value);
        if (planned->known[pass])
            prefer(choice, (enum dnn_pass)pass, value);
    }
    if (choice && !planned && context->autotune) /* another rank has made the plan */
        recall_passes(context, site, choice);
    return choice;
}

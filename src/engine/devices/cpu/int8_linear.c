/* A linear layer of integers (int8.h). For few images most of its time is the reading of its
 * weights from memory, so they stay in 8 bits, row by row as in the parameter. A task computes some
 * rows: it copies the images' factors to a buffer of its thread, in the order of the parameter, and
 * goes through the rows, four at a time, for one image after the other. */
#include "engine/devices/cpu/int8_results.h"

#include "engine/graph/machine_model.h"

/* Weights of a row that are read at once, and rows that are computed from one read of the image. */
enum { STEP = 64, ROWS = 4 };

struct linear {
    size_t inputs, step_inputs; /* of a row: in whole steps */
    size_t outputs, batch;
};

static struct linear linear_of(const struct kernel_site *site)
{
    const size_t inputs = shape_count(site->inputs[0]);
    return (struct linear){.inputs = inputs,
                           .step_inputs = round_up(inputs, STEP),
                           .outputs = site->node->output.channels,
                           .batch = site->batch};
}

static size_t buffer_bytes(const struct linear *l)
{
    return l->batch * l->step_inputs * sizeof(factor);
}

static size_t linear_workspace(const struct kernel_site *site)
{
    const struct linear l = linear_of(site);
    return max_size(1, site->threads) * buffer_bytes(&l);
}

/* --- weights --- */

static size_t column_count(const struct linear *l)
{
    return int8_blocks(l->outputs);
}

static size_t weights_bytes(const struct linear *l)
{
    return round_up(l->outputs, ROWS) * l->step_inputs;
}

static size_t linear_prepared(const struct kernel_site *site)
{
    const struct linear l = linear_of(site);
    return weights_bytes(&l) + column_count(&l) * sizeof(struct int8_column);
}

static struct int8_column *columns_of(const struct kernel_call *call, const struct linear *l)
{
    return (struct int8_column *)((char *)call->prepared + weights_bytes(l));
}

struct preparation {
    const struct kernel_call *call;
    struct linear l;
    struct int8_layer layer;
};

/* Prepares a block of outputs. */
static void prepare_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct preparation *p = context;
    struct int8_column *column = columns_of(p->call, &p->l) + task;
    memset(column, 0, sizeof *column);
    for (size_t lane = 0; lane < INT8_BLOCK; lane++) {
        const size_t o = task * INT8_BLOCK + lane;
        struct int8_output output;
        int8_t *row = (int8_t *)p->call->prepared + o * p->l.step_inputs;
        if (o < round_up(p->l.outputs, ROWS))
            memset(row, 0, p->l.step_inputs);
        if (o < p->l.outputs) {
            int8_layer_weights(&p->layer, o, row);
            output = int8_layer_output(&p->layer, o, row);
        }
        int8_column_set(column, lane, o < p->l.outputs ? &output : NULL);
    }
}

static void prepare_linear(const struct kernel_call *call)
{
    const struct preparation p = {call, linear_of(call->site), int8_layer_of(call)};
    run_tasks(call, column_count(&p.l), prepare_task, &p);
}

/* --- products --- */

/* Returns LANES sums of pairs or quads of products. */
static inline sums row_multiply(sums sum, const int8_t *weights, const factor *factors)
{
#if defined(TINCA_VNNI)
    return term_multiply(sum, sums_load(weights), sums_load(factors));
#elif defined(__AVX512F__)
    const __m256i w = _mm256_loadu_si256((const __m256i *)weights);
    return term_multiply(sum, (sums)_mm512_cvtepi8_epi16(w), sums_load(factors));
#elif defined(__AVX2__)
    const __m128i w = _mm_loadu_si128((const __m128i *)weights);
    return term_multiply(sum, (sums)_mm256_cvtepi8_epi16(w), sums_load(factors));
#else
    for (size_t i = 0; i < LANES; i++)
        for (size_t k = 0; k < TERM_FACTORS; k++)
            sum[i] += weights[i * TERM_FACTORS + k] * factors[i * TERM_FACTORS + k];
    return sum;
#endif
}

static inline int32_t sums_total(sums sum)
{
    int32_t total = 0;
    for (size_t i = 0; i < LANES; i++)
        total += sum[i];
    return total;
}

/* Writes the sums of ROWS rows for one image. */
static void multiply_rows(const struct linear *l, const int8_t *weights, const factor *factors,
                          int32_t *to)
{
    enum { VALUES = LANES * TERM_FACTORS };
    sums sum[ROWS] = {{0}};
    for (size_t i = 0; i < l->step_inputs; i += VALUES)
        for (size_t r = 0; r < ROWS; r++)
            sum[r] = row_multiply(sum[r], weights + r * l->step_inputs + i, factors + i);
    for (size_t r = 0; r < ROWS; r++)
        to[r] = sums_total(sum[r]);
}

/* --- tasks --- */

struct job {
    const struct kernel_call *call;
    struct linear l;
    struct int8_results results;
    size_t tasks;
};

/* Copies the factors of all images; those behind the last one have weights of 0. */
static void copy_images(const struct job *job, factor *to)
{
    const struct kernel_site *site = job->call->site;
    const struct linear *l = &job->l;
    const uint8_t *from = (const uint8_t *)job->call->inputs[0];
    const size_t image = tensor_image(site->layouts[0], site->inputs[0]);
    const bool one_position = shape_area(site->inputs[0]) == 1;
    for (size_t n = 0; n < l->batch; n++, to += l->step_inputs) {
        for (size_t i = 0; i < l->inputs; i++)
            to[i] = from[one_position ? n * image + i
                                      : int8_at_index(site->layouts[0], site->inputs[0], n, i)];
        for (size_t i = l->inputs; i < l->step_inputs; i++)
            to[i] = 0;
    }
}

static void linear_task(void *context, size_t task, size_t thread)
{
    const struct job *job = context;
    const struct linear *l = &job->l;
    const size_t blocks = column_count(l), last = chunk_begin(blocks, job->tasks, task + 1);
    factor *factors = (factor *)((char *)job->call->workspace + thread * buffer_bytes(l));
    copy_images(job, factors);
    for (size_t block = chunk_begin(blocks, job->tasks, task); block < last; block++)
        for (size_t n = 0; n < l->batch; n++) {
            int32_t values[INT8_BLOCK] = {0};
            sums sum[BLOCK_VECTORS];
            for (size_t r = 0; r < INT8_BLOCK; r += ROWS)
                if (block * INT8_BLOCK + r < l->outputs)
                    multiply_rows(l,
                                  (const int8_t *)job->call->prepared +
                                      (block * INT8_BLOCK + r) * l->step_inputs,
                                  factors + n * l->step_inputs, values + r);
            for (size_t v = 0; v < BLOCK_VECTORS; v++)
                sum[v] = sums_load(values + v * LANES);
            const struct int8_place place = int8_place_of(&job->results, n, block, 0);
            int8_store(&job->results, &place, 1, sum, BLOCK_VECTORS);
        }
}

static void forward_linear(const struct kernel_call *call)
{
    struct job job = {.call = call, .l = linear_of(call->site)};
    const struct linear *l = &job.l;
    job.results = int8_results_of(call, columns_of(call, l));
    const size_t wanted = machine_tasks(
        call->site->machine, MACHINE_OPERATION,
        l->batch * l->outputs * l->step_inputs / (LANES * TERM_FACTORS), pool_threads(call->pool));
    job.tasks = min_size(wanted, column_count(l));
    run_tasks(call, job.tasks, linear_task, &job);
}

extern const struct kernel KERNEL(linear_int8);
const struct kernel KERNEL(linear_int8) = {
    .name = "linear int8",
    .instruction_set = INT8_ISA_NAME,
    .op = &op_linear,
    .traits = KERNEL_INT8 | KERNEL_BLOCKED | KERNEL_FUSES_EPILOGUE,
    .supports = supports_int8,
    .workspace_bytes = linear_workspace,
    .prepared_bytes = linear_prepared,
    .prepare = prepare_linear,
    .forward = forward_linear,
};

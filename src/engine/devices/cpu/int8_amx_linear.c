/* A linear layer of integers (int8.h) with AMX, for batches: the images are the rows of tiles of
 * values. A task copies the images' factors to a buffer of its thread, in the order of the
 * parameter, and computes some columns (blocks of outputs). */
#include "engine/devices/cpu/int8_amx.h"

#include "base/language.h"
#include "engine/devices/cpu/int8_results.h"
#include "engine/graph/machine_model.h"

struct linear {
    size_t inputs, outputs, batch, columns;
    size_t tile_rows, tiles; /* images of a tile, and tiles */
    struct amx_product product;
};

static struct linear linear_of(const struct kernel_site *site)
{
    struct linear l = {.inputs = shape_count(site->inputs[0]),
                       .outputs = site->node->output.channels,
                       .batch = site->batch};
    l.columns = int8_blocks(l.outputs);
    l.tile_rows = amx_chunk(l.batch, TILE_ROWS_MAX);
    l.tiles = divide_up(l.batch, l.tile_rows);
    const size_t terms = divide_up(l.inputs, TERM_FACTORS);
    l.product.chunk_terms = amx_chunk(terms, AMX_TERMS);
    l.product.chunks = divide_up(terms, l.product.chunk_terms);
    /* whole cache lines, so that a row of a tile reads one */
    l.product.step = round_up(l.product.chunks * l.product.chunk_terms * TERM_FACTORS, 64);
    return l;
}

/* Returns the bytes of the images' factors, of those that fill the last tile too. */
static size_t buffer_bytes(const struct linear *l)
{
    return l->tiles * l->tile_rows * l->product.step;
}

static size_t linear_workspace(const struct kernel_site *site)
{
    const struct linear l = linear_of(site);
    return max_size(1, site->threads) * buffer_bytes(&l);
}

/* --- memory that `prepare` fills (weights, columns, offsets), and its scratch --- */

static size_t weights_bytes(const struct linear *l)
{
    return round_up(l->columns * amx_column_bytes(&l->product), 64);
}

static struct int8_column *columns_of(const struct kernel_call *call, const struct linear *l)
{
    return (struct int8_column *)((char *)call->prepared + weights_bytes(l));
}

static size_t *offsets_of(const struct kernel_call *call, const struct linear *l)
{
    return (size_t *)(columns_of(call, l) + l->columns);
}

static size_t linear_prepared(const struct kernel_site *site)
{
    const struct linear l = linear_of(site);
    return weights_bytes(&l) + l.columns * (sizeof(struct int8_column) + round_up(l.inputs, 64)) +
           l.product.chunks * sizeof(size_t);
}

struct preparation {
    const struct kernel_call *call;
    struct linear l;
    struct int8_layer layer;
};

/* Prepares a column. */
static void prepare_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct preparation *p = context;
    const struct linear *l = &p->l;
    struct int8_column *column = columns_of(p->call, l) + task;
    int8_t *to = (int8_t *)p->call->prepared + task * amx_column_bytes(&l->product);
    int8_t *row =
        (int8_t *)(offsets_of(p->call, l) + l->product.chunks) + task * round_up(l->inputs, 64);
    memset(to, 0, amx_column_bytes(&l->product));
    memset(column, 0, sizeof *column);
    for (size_t lane = 0; lane < INT8_BLOCK; lane++) {
        const size_t o = task * INT8_BLOCK + lane;
        struct int8_output output;
        if (o < l->outputs) {
            int8_layer_weights(&p->layer, o, row);
            output = int8_layer_output(&p->layer, o, row);
            for (size_t i = 0; i < l->inputs; i++)
                to[(i / TERM_FACTORS * INT8_BLOCK + lane) * TERM_FACTORS + i % TERM_FACTORS] =
                    row[i];
        }
        int8_column_set(column, lane, o < l->outputs ? &output : NULL);
    }
}

static void prepare_linear(const struct kernel_call *call)
{
    const struct preparation p = {call, linear_of(call->site), int8_layer_of(call)};
    size_t *offsets = offsets_of(call, &p.l);
    for (size_t chunk = 0; chunk < p.l.product.chunks; chunk++)
        offsets[chunk] = chunk * p.l.product.chunk_terms * TERM_FACTORS;
    run_tasks(call, p.l.columns, prepare_task, &p);
}

/* --- tasks --- */

struct job {
    const struct kernel_call *call;
    struct linear l;
    struct int8_results results;
    size_t tasks;
};

/* Copies the factors of all images; those behind the last one have weights of 0. */
static void copy_images(const struct job *job, uint8_t *to)
{
    const struct kernel_site *site = job->call->site;
    const struct linear *l = &job->l;
    const uint8_t *from = (const uint8_t *)job->call->inputs[0];
    const size_t image = tensor_image(site->layouts[0], site->inputs[0]);
    const bool one_position = shape_area(site->inputs[0]) == 1;
    for (size_t n = 0; n < l->batch; n++, to += l->product.step) {
        if (one_position)
            memcpy(to, from + n * image, l->inputs);
        else
            for (size_t i = 0; i < l->inputs; i++)
                to[i] = from[int8_at_index(site->layouts[0], site->inputs[0], n, i)];
        memset(to + l->inputs, 0, l->product.step - l->inputs);
    }
}

/* Computes some tiles and columns. */
static void compute_group(const struct job *job, const uint8_t *factors, size_t tile, size_t tiles,
                          size_t column, size_t columns)
{
    const struct linear *l = &job->l;
    _Alignas(64) int32_t totals[AMX_TILES * AMX_SUMS];
    struct amx_group group = {.weights = (const int8_t *)job->call->prepared +
                                         column * amx_column_bytes(&l->product),
                              .tiles = tiles,
                              .columns = columns};
    for (size_t t = 0; t < tiles; t++)
        group.values[t] = factors + (tile + t) * l->tile_rows * l->product.step;
    KERNEL(amx_multiply)(&l->product, &group, totals);
    for (size_t t = 0; t < tiles; t++)
        for (size_t i = 0; i < columns; i++)
            for (size_t r = 0; r < l->tile_rows; r++) {
                const size_t image = (tile + t) * l->tile_rows + r;
                if (image >= l->batch)
                    continue;
                const struct int8_place place = int8_place_of(&job->results, image, column + i, 0);
                int8_store(&job->results, &place, 1, amx_position_sums(totals, t * columns + i, r),
                           BLOCK_VECTORS);
            }
}

static void linear_task(void *context, size_t task, size_t thread)
{
    const struct job *job = context;
    const struct linear *l = &job->l;
    const size_t last = chunk_begin(l->columns, job->tasks, task + 1);
    const size_t most_columns = l->tiles == 1 ? AMX_TILES : 2;
    uint8_t *factors = (uint8_t *)job->call->workspace + thread * buffer_bytes(l);
    copy_images(job, factors);
    amx_configure(l->tile_rows, l->product.chunk_terms);
    for (size_t column = chunk_begin(l->columns, job->tasks, task), columns; column < last;
         column += columns) {
        columns = min_size(most_columns, last - column);
        const size_t most_tiles = columns == 1 ? AMX_TILES : columns == 2 ? 2 : 1;
        for (size_t tile = 0; tile < l->tiles; tile += most_tiles)
            compute_group(job, factors, tile, min_size(most_tiles, l->tiles - tile), column,
                          columns);
    }
    amx_release();
}

static void forward_linear(const struct kernel_call *call)
{
    struct job job = {.call = call, .l = linear_of(call->site)};
    const struct linear *l = &job.l;
    job.l.product.offsets = offsets_of(call, l);
    job.results = int8_results_of(call, columns_of(call, l));
    /* the weights are read once for all images, and that takes longest */
    const size_t work = l->columns * (amx_column_bytes(&l->product) / 64 + l->batch * 8);
    const size_t wanted =
        machine_tasks(call->site->machine, MACHINE_OPERATION, work, pool_threads(call->pool));
    job.tasks = min_size(wanted, l->columns);
    run_tasks(call, job.tasks, linear_task, &job);
}

static bool supports_linear(const struct kernel_site *site, const char **reason)
{
    if (!supports_int8(site, reason))
        return false;
    const struct linear l = linear_of(site);
    *reason = N_("too few images or inputs for the tiles of AMX");
    return l.batch * divide_up(l.inputs, TERM_FACTORS) >=
           AMX_LEAST_PRODUCTS * l.tiles * l.product.chunks;
}

extern const struct kernel KERNEL(linear_int8);
const struct kernel KERNEL(linear_int8) = {
    .name = "linear int8",
    .instruction_set = INT8_ISA_NAME,
    .op = &op_linear,
    .traits = KERNEL_INT8 | KERNEL_BLOCKED | KERNEL_FUSES_EPILOGUE,
    .supports = supports_linear,
    .workspace_bytes = linear_workspace,
    .prepared_bytes = linear_prepared,
    .prepare = prepare_linear,
    .forward = forward_linear,
};

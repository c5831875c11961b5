/* Chooses the tile of an implicit GEMM and the number of parts of its sums (gemm_split.h) by an
 * estimate of the time.
 *
 * A block computes its terms in steps: it loads the operands of a step while it multiplies those of
 * the one before. A multiprocessor that has several blocks multiplies for one while another waits
 * for its loads, so a step of all its blocks takes as long as their products, but no less than
 * those of one block and the latency of its loads. Parts shorten the sums of a block, but must be
 * written, and read by one block. */
#include "engine/devices/cuda/gemm_split.h"

#include <algorithm>

const struct gemm_tile_size gemm_tile_sizes[GEMM_TILES] = {
    {128, 128}, {64, 64}, {32, 128}, {16, 128}, {32, 32}};

/* The estimates: `cost` is that of a value of the tile and a term in float32. They come from the
 * instructions of the kernels' loops, and LATENCY and JOIN from single images on an H100. */
static const struct {
    uint32_t step; /* terms */
    uint32_t cost;
    bool tensor;   /* below float32 the products run on tensor cores; other tiles are too low */
    bool last;     /* the same for a channels-last source (implicit_gemm_last.cu) */
    uint32_t each; /* blocks of a multiprocessor, if there are parts; 0: there are none */
} estimates[GEMM_TILES] = {
    {16, 10, true, true, 0},   {16, 13, true, true, 2},   {16, 14, false, true, 2},
    {16, 18, false, false, 4}, {64, 20, false, false, 4},
};
enum {
    CYCLE =
        1920, /* cost of the products of a multiprocessor in a cycle: 128, of cost 15, doubled */
    LATENCY = 1000, /* cycles from the loads of a step to its products */
    JOIN = 1500,    /* cycles to write sums, to count the arrival and to begin to read */
    JOINED = 16,    /* sums that a multiprocessor reads in a cycle */
    LEAST_STEPS = 2 /* of a part */
};

static size_t ceiling(size_t n, size_t by)
{
    return (n + by - 1) / by;
}

/* Returns the largest number of positions, or of taps, among the phases of an axis. */
static size_t most_of(const struct gemm_axis *axis, bool taps)
{
    size_t most = 0;
    for (int p = 0; p < axis->phase_count; p++) {
        const struct gemm_phase *phase = &axis->phases[p];
        const size_t count = taps           ? phase->untapped ? 0 : phase->taps.value
                             : phase->empty ? 0
                                            : phase->columns.value;
        most = std::max(most, count);
    }
    return most;
}

dim3 gemm_grid(const struct implicit_gemm *w, enum gemm_tile tile)
{
    const struct gemm_tile_size *size = &gemm_tile_sizes[tile];
    const size_t columns = w->images * most_of(&w->down, false) * most_of(&w->across, false);
    return dim3(blocks_for(columns, size->columns), blocks_for(w->rows, size->rows),
                w->groups * (unsigned)(w->down.phase_count * w->across.phase_count));
}

/* Returns twice the cost of a value. Below float32, tiles without tensor cores cost twice as much
 * as tiles with them. With a channels-last source, large tiles without tensor cores would load
 * lines of channels for one value each, and cost four times as much. */
static size_t cost_of(enum gemm_tile tile, enum gemm_operands operands)
{
    const size_t cost = estimates[tile].cost;
    if (operands == GEMM_FLOAT32)
        return 2 * cost;
    if (operands == GEMM_TENSOR ? estimates[tile].tensor : estimates[tile].last)
        return cost;
    return operands == GEMM_TENSOR_LAST && tile != GEMM_SLICED ? 4 * cost : 2 * cost;
}

/* Returns the time of a division into parts of `terms` terms. */
static size_t time_of(enum gemm_tile tile, enum gemm_operands operands, size_t blocks, size_t parts,
                      size_t terms)
{
    const struct gemm_tile_size *size = &gemm_tile_sizes[tile];
    const size_t sums = size->rows * size->columns;
    const size_t busy = multiprocessor_count();
    const size_t work = sums * terms * cost_of(tile, operands);
    const size_t latency = operands == GEMM_FLOAT32 ? LATENCY : 0;
    const size_t waiting = work + ceiling(terms, estimates[tile].step) * latency * CYCLE;
    const size_t time = std::max(ceiling(blocks * parts, busy) * work, waiting);
    const size_t joining = JOIN + ceiling(blocks, busy) * sums * parts / JOINED;
    return parts > 1 ? time + joining * CYCLE : time;
}

/* Returns the terms of the sum of a phase that has the most. */
static size_t terms_of(const struct implicit_gemm *w)
{
    return std::max((size_t)1, w->channels * most_of(&w->down, true) * most_of(&w->across, true));
}

static size_t steps_of(const struct implicit_gemm *w, enum gemm_tile tile)
{
    return ceiling(terms_of(w), estimates[tile].step);
}

/* Returns the most parts that `blocks` blocks may have so that they are no more than `each` for
 * every multiprocessor. */
static size_t parts_limit(size_t blocks, size_t steps, size_t each)
{
    const size_t wanted = std::min(each * multiprocessor_count() / blocks, steps / LEAST_STEPS);
    return blocks > GEMM_ARRIVALS ? 1 : std::max((size_t)1, wanted);
}

struct gemm_division gemm_divide(const struct implicit_gemm *w, enum gemm_operands operands)
{
    struct gemm_division best = {};
    size_t least = 0;
    for (int t = 0; t < GEMM_TILES; t++) {
        const enum gemm_tile tile = (enum gemm_tile)t;
        const dim3 grid = gemm_grid(w, tile);
        const size_t blocks = std::max((size_t)1, (size_t)grid.x * grid.y * grid.z);
        const size_t steps = steps_of(w, tile);
        for (size_t each = 0, before = 0; each <= estimates[tile].each; each++) {
            const size_t limit = parts_limit(blocks, steps, each);
            if (limit == before)
                continue;
            before = limit;
            const size_t part_steps = ceiling(steps, limit), parts = ceiling(steps, part_steps);
            const size_t part_terms = part_steps * estimates[tile].step;
            const size_t time =
                time_of(tile, operands, blocks, parts, std::min(part_terms, terms_of(w)));
            if (least == 0 || time < least) {
                least = time;
                best = {tile, (uint32_t)parts, (uint32_t)part_terms};
            }
        }
    }
    return best;
}

/* --- workspace --- */

/* Returns the bytes for the sums of the most parts that this product, or that of fewer images, may
 * have with any tile. It grows with the images, so that a plan's workspace is enough for an epoch's
 * last batch, too. */
static size_t bytes_of(const struct implicit_gemm *w)
{
    size_t most = 0;
    for (int t = 0; t < GEMM_TILES; t++) {
        const enum gemm_tile tile = (enum gemm_tile)t;
        const struct gemm_tile_size *size = &gemm_tile_sizes[tile];
        const dim3 grid = gemm_grid(w, tile);
        const size_t divided = (size_t)grid.x * grid.y * grid.z * (steps_of(w, tile) / LEAST_STEPS);
        const size_t busy = estimates[tile].each * multiprocessor_count();
        if (steps_of(w, tile) >= 2 * LEAST_STEPS)
            most = std::max(most, std::min(divided, busy) * size->rows * size->columns);
    }
    return most * sizeof(float);
}

size_t implicit_gemm_workspace(const struct conv_shape *conv, bool backward)
{
    size_t most = 0;
    for (size_t y = 0; y < (backward ? conv->window.stride_height : 1); y += GEMM_PHASES)
        for (size_t x = 0; x < (backward ? conv->window.stride_width : 1); x += GEMM_PHASES) {
            const struct implicit_gemm w = backward ? implicit_gemm_backward(conv, NULL, y, x)
                                                    : implicit_gemm_forward(conv, NULL);
            most = std::max(most, bytes_of(&w));
        }
    return most;
}

/* Depthwise convolution on channel-blocked arrays, for inference: groups of one input channel, each
 * with one or several output channels.
 *
 * The channels of a block are computed in the lanes of a vector, so that a term is one load and one
 * multiply-add for LANES channels. With several output channels for each input channel, or behind a
 * fused channel_shuffle, the lanes of an output block read other lanes of one or two input blocks:
 * a shuffle of two vectors brings them there. With one output channel for each input channel it
 * shuffles the sums, whose weights are in the order of the input's lanes; half of the sums of two
 * blocks are then not used, but 9 terms take longer to shuffle than to add.
 */
#include "base/language.h"
#include "engine/devices/cpu/blocked.h"
#include "engine/devices/cpu/conv.h"

enum { STRIP = 8 }; /* positions whose sums are in registers */

/* The way in which the lanes of an output block get their input values. */
enum order {
    ORDER_STRAIGHT,    /* every lane reads the same lane of the first input block */
    ORDER_TERMS,       /* each term is shuffled */
    ORDER_SUMS_OF_ONE, /* the sums are shuffled; all come from the first input block */
    ORDER_SUMS         /* the sums of both input blocks are shuffled */
};

/* The sources of the lanes of an output block. */
struct lanes {
    size_t first, second;  /* input blocks */
    vector_indices places; /* by lane: its lane in `first`, or LANES + its lane in `second` */
    enum order order;
};

struct depthwise {
    struct conv_sizes sizes;
    size_t blocks; /* of output channels */
    size_t parts;  /* of the weights of a block: 2 if sums may be shuffled */
    /* in the prepared memory: */
    struct lanes *lanes; /* by output block */
    /* [block][part][lane], [block][part][tap][lane]: the parts are those of the two input blocks if
     * sums are shuffled; otherwise the first part has the order of the output's lanes */
    float *bias, *weights;
    /* set for each call: */
    const struct kernel_call *call;
    struct blocked in, out;
    struct epilogue epilogue;
    struct blocked_tasks tasks;
};

static struct depthwise depthwise_of(const struct kernel_site *site, struct carve *carve)
{
    struct depthwise d = {.sizes = conv_sizes_of(site)};
    d.blocks = divide_up(site->node->output.channels, LANES);
    d.parts = d.sizes.moves.fused_move && d.sizes.outputs == 1 ? 2 : 1;
    carve_bytes(carve, sizeof d);
    d.lanes = carve_bytes(carve, d.blocks * sizeof *d.lanes);
    d.bias = carve_floats(carve, d.blocks * d.parts * LANES);
    d.weights = carve_floats(carve, d.blocks * d.parts * LANES * d.sizes.taps);
    return d;
}

static size_t prepared_depthwise(const struct kernel_site *site)
{
    struct carve carve = {0};
    depthwise_of(site, &carve);
    return carve.used;
}

/* Returns the input channel that an output channel reads. */
static size_t input_channel(const struct conv_sizes *s, size_t channel)
{
    return channel_move_of(&s->moves, channel / s->outputs).channel;
}

/* Returns the order of a block whose lanes are set. Sums of unused lanes would not be 0 if they
 * were shuffled. */
static enum order order_of(const struct conv_sizes *s, size_t block, const struct lanes *lanes)
{
    bool straight = true;
    for (size_t lane = 0; lane < LANES; lane++)
        straight &= lanes->places[lane] == (int)lane;
    if (straight)
        return ORDER_STRAIGHT;
    if (s->outputs > 1 || (block + 1) * LANES > s->groups)
        return ORDER_TERMS;
    return lanes->first == lanes->second ? ORDER_SUMS_OF_ONE : ORDER_SUMS;
}

/* Sets the lanes of an output block; returns false if they come from more than two input blocks.
 * Unused lanes repeat the last used one. */
static bool set_lanes(const struct conv_sizes *s, size_t block, struct lanes *lanes)
{
    const size_t last = s->groups * s->outputs - 1;
    bool two = false;
    *lanes = (struct lanes){0};
    for (size_t lane = 0; lane < LANES; lane++) {
        const size_t channel = input_channel(s, min_size(block * LANES + lane, last));
        const size_t from = channel / LANES;
        if (lane == 0)
            lanes->first = lanes->second = from;
        if (from != lanes->first && !two) {
            lanes->second = from;
            two = true;
        }
        if (from != lanes->first && from != lanes->second)
            return false;
        lanes->places[lane] = (int)(channel % LANES + (from == lanes->first ? 0 : LANES));
    }
    lanes->order = order_of(s, block, lanes);
    return true;
}

/* Writes bias and weights of an output channel to where its sum is computed. */
static void prepare_channel(const struct kernel_call *call, const struct depthwise *d,
                            size_t channel)
{
    const struct conv_sizes *s = &d->sizes;
    const size_t block = channel / LANES, lane = channel % LANES;
    const struct lanes *lanes = &d->lanes[block];
    const bool has_bias = call->site->node->attributes.conv.bias;
    const size_t place = lanes->order >= ORDER_SUMS_OF_ONE ? (size_t)lanes->places[lane] : lane;
    const size_t part = block * d->parts + place / LANES;
    const struct affine affine =
        KERNEL(blocked_affine)(call, channel, has_bias ? call->parameters[1][channel] : 0);
    d->bias[part * LANES + place % LANES] = affine.shift;
    for (size_t tap = 0; tap < s->taps; tap++)
        d->weights[(part * s->taps + tap) * LANES + place % LANES] =
            element_round(call->parameters[0][channel * s->taps + tap]) * affine.scale;
}

static void prepare_depthwise(const struct kernel_call *call)
{
    struct carve carve = {.base = call->prepared};
    const struct depthwise d = depthwise_of(call->site, &carve);
    const size_t values = d.blocks * d.parts * LANES;
    memcpy(call->prepared, &d, sizeof d);
    memset(d.bias, 0, values * sizeof *d.bias);
    memset(d.weights, 0, values * d.sizes.taps * sizeof *d.weights);
    for (size_t block = 0; block < d.blocks; block++)
        set_lanes(&d.sizes, block, &d.lanes[block]);
    for (size_t channel = 0; channel < d.sizes.groups * d.sizes.outputs; channel++)
        prepare_channel(call, &d, channel);
}

/* --- sums --- */

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* The data that all positions of a row share. */
struct row {
    const element *first, *second; /* the input under the window of position 0 */
    const float *weights, *bias;
    const element *summand;
    element *out;
};

/* Computes the sums of positions [x, x + count) over a window of the first input block, or of the
 * second if `second` is set. The last three arguments are constants of each call. */
ALWAYS_INLINE void add_terms(const struct depthwise *d, const struct lanes *lanes,
                             const struct row *row, size_t x, vector *sum, const int count,
                             const bool second, const bool shuffled)
{
    const struct window *w = &d->sizes.window;
    const size_t step = w->stride_width * LANES;
    const size_t down = d->sizes.dilation_height * d->in.row;
    const size_t across = d->sizes.dilation_width * LANES;
    const element *from = second ? row->second : row->first;
    const float *weights = row->weights + (second ? d->sizes.taps * LANES : 0);
#pragma GCC unroll 8
    for (int p = 0; p < count; p++)
        sum[p] = vector_load(row->bias + (second ? LANES : 0));
    for (size_t ky = 0; ky < w->kernel_height; ky++)
        for (size_t kx = 0; kx < w->kernel_width; kx++, weights += LANES) {
            const size_t at = ky * down + kx * across + x * step;
            const vector weight = vector_load(weights);
#pragma GCC unroll 8
            for (int p = 0; p < count; p++) {
                vector term = element_load(from + at + (size_t)p * step);
                if (shuffled)
                    term = vector_pick_two(term, element_load(row->second + at + (size_t)p * step),
                                           lanes->places);
                sum[p] += weight * term;
            }
        }
}

/* Computes positions [x, x + count). */
ALWAYS_INLINE void compute_strip(const struct depthwise *d, const struct lanes *lanes,
                                 const struct row *row, size_t x, const int count,
                                 const enum order order)
{
    const struct epilogue epilogue = d->epilogue;
    vector sum[STRIP], other[STRIP];
    add_terms(d, lanes, row, x, sum, count, false, order == ORDER_TERMS);
    if (order == ORDER_SUMS)
        add_terms(d, lanes, row, x, other, count, true, false);
#pragma GCC unroll 8
    for (int p = 0; p < count; p++) {
        const size_t at = (x + (size_t)p) * LANES;
        if (order == ORDER_SUMS)
            sum[p] = vector_pick_two(sum[p], other[p], lanes->places);
        if (order == ORDER_SUMS_OF_ONE)
            sum[p] = vector_pick_two(sum[p], sum[p], lanes->places);
        element_store(row->out + at,
                      epilogue_apply(&epilogue, sum[p], row->summand ? row->summand + at : NULL));
    }
}

ALWAYS_INLINE void compute_row(const struct depthwise *d, const struct lanes *lanes,
                               const struct row *row, const enum order order)
{
    const size_t width = d->sizes.out.width;
    size_t x = 0;
    for (; x + STRIP <= width; x += STRIP)
        compute_strip(d, lanes, row, x, STRIP, order);
    for (; x + STRIP / 2 <= width; x += STRIP / 2)
        compute_strip(d, lanes, row, x, STRIP / 2, order);
    for (; x < width; x++)
        compute_strip(d, lanes, row, x, 1, order);
}

static void compute_any_row(const struct depthwise *d, const struct lanes *lanes,
                            const struct row *row)
{
    switch (lanes->order) {
    case ORDER_STRAIGHT:
        compute_row(d, lanes, row, ORDER_STRAIGHT);
        break;
    case ORDER_TERMS:
        compute_row(d, lanes, row, ORDER_TERMS);
        break;
    case ORDER_SUMS_OF_ONE:
        compute_row(d, lanes, row, ORDER_SUMS_OF_ONE);
        break;
    default:
        compute_row(d, lanes, row, ORDER_SUMS);
    }
}

static void compute_row_block(const struct depthwise *d, const struct row_block *block)
{
    const struct window *w = &d->sizes.window;
    const struct lanes *lanes = &d->lanes[block->plane];
    const struct blocked *summand = &d->epilogue.summand;
    /* the padding of the input is at least that of the window */
    const size_t before = w->pad_height * d->in.row + w->pad_width * LANES;
    const size_t top = block->begin * w->stride_height, image = block->image, plane = block->plane;
    struct row row = {.first = blocked_at(&d->in, image, lanes->first, top) - before,
                      .second = blocked_at(&d->in, image, lanes->second, top) - before,
                      .weights = d->weights + plane * d->parts * d->sizes.taps * LANES,
                      .bias = d->bias + plane * d->parts * LANES,
                      .summand =
                          summand->values ? blocked_at(summand, image, plane, block->begin) : NULL,
                      .out = blocked_at(&d->out, image, plane, block->begin)};
    for (size_t y = block->begin; y < block->end; y++) {
        compute_any_row(d, lanes, &row);
        row.first += w->stride_height * d->in.row;
        row.second += w->stride_height * d->in.row;
        row.out += d->out.row;
        if (row.summand)
            row.summand += summand->row;
    }
    blocked_pad(&d->out, block->image, block->plane, block->begin, block->end);
}

static void depthwise_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct depthwise *d = context;
    struct row_block block = blocked_first(&d->tasks, task);
    while (blocked_next(&d->tasks, &block))
        compute_row_block(d, &block);
}

/* Sets *d to the prepared convolution with the arrays of the call. */
static inline void set_inference(struct depthwise *d, const struct kernel_call *call)
{
    memcpy(d, call->prepared, sizeof *d);
    d->call = call;
    d->in = blocked_input(call, 0);
    d->out = blocked_output(call);
    d->epilogue = epilogue_of(call);
}

/* Returns the vector operations of a row of one block. */
static size_t row_work(const struct conv_sizes *s)
{
    return (s->taps + 1) * s->out.width;
}

static void forward_depthwise(const struct kernel_call *call)
{
    struct depthwise d;
    set_inference(&d, call);
    d.tasks = blocked_tasks_of(call, &d.out, row_work(&d.sizes));
    run_tasks(call, d.tasks.count, depthwise_task, &d);
}

static void forward_rows(const struct kernel_call *call, const struct kernel_rows *rows,
                         size_t thread)
{
    (void)thread;
    struct depthwise d;
    set_inference(&d, call);
    struct row_block block = {.image = rows->image, .begin = rows->begin, .end = rows->end};
    for (; block.plane < d.blocks; block.plane++)
        compute_row_block(&d, &block);
}

static size_t row_blocks_depthwise(const struct kernel_site *site)
{
    const struct conv_sizes s = conv_sizes_of(site);
    return blocked_row_blocks(site, row_work(&s));
}

/* --- the kernel --- */

static bool lanes_fit(const struct conv_sizes *s)
{
    struct lanes lanes;
    for (size_t block = 0; block < divide_up(s->groups * s->outputs, LANES); block++)
        if (!set_lanes(s, block, &lanes))
            return false;
    return true;
}

static bool fuses_move(const struct kernel_site *site, const struct node *move)
{
    struct conv_sizes s = conv_sizes_of(site);
    s.moves.fused_move = move;
    return move->op == &op_channel_shuffle && lanes_fit(&s);
}

static bool supports_depthwise(const struct kernel_site *site, const char **reason)
{
    const struct conv_sizes s = conv_sizes_of(site);
    if (!KERNEL(blocked_supports)(site, reason))
        return false;
    *reason = N_("groups of several input channels");
    if (s.inputs > 1 || s.groups == 1)
        return false;
    *reason = N_("an output of one position");
    return shape_area(s.out) > 1 && lanes_fit(&s);
}

static size_t pad_needed(const struct kernel_site *site)
{
    const struct window *w = &site->node->attributes.conv.window;
    return max_size(w->pad_height, w->pad_width);
}

const struct kernel KERNEL(conv_depthwise) = {
    .name = "conv depthwise",
    .instruction_set = ISA_NAME,
    .op = &op_conv,
    .traits = KERNEL_BLOCKED | ELEMENT_TRAITS | KERNEL_FUSES_CHANNEL_MOVES | KERNEL_FUSES_EPILOGUE |
              KERNEL_FUSES_NORMS,
    .supports = supports_depthwise,
    .fuses_move = fuses_move,
    .input_pad = pad_needed,
    .prepared_bytes = prepared_depthwise,
    .prepare = prepare_depthwise,
    .forward = forward_depthwise,
    .forward_rows = forward_rows,
    .row_blocks = row_blocks_depthwise,
};

/* Depthwise convolution on channel-blocked arrays, for inference: groups of one input channel, each
 * with one or several output channels.
 *
 * The channels of a block are computed in the lanes of a vector, so that a term is one load and one
 * multiply-add for LANES channels. With several output channels for each input channel, or behind a
 * fused channel_shuffle, the lanes of an output block read other lanes of one or two input blocks:
 * a shuffle of two vectors brings them there.
 */
#include "base/language.h"
#include "engine/devices/cpu/blocked.h"
#include "engine/devices/cpu/conv.h"

enum { STRIP = 8 }; /* positions whose sums are in registers */

/* Where the input channels of an output block come from. */
struct lanes {
    size_t first, second;  /* input blocks */
    vector_indices places; /* by lane: its lane in `first`, or LANES + its lane in `second` */
    bool straight;         /* every lane reads the same lane of `first` */
};

struct depthwise {
    struct conv_sizes sizes;
    size_t blocks; /* of output channels */
    /* in the prepared memory: */
    struct lanes *lanes;   /* by output block */
    float *bias, *weights; /* [block][lane], [block][tap][lane] */
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
    carve_bytes(carve, sizeof d);
    d.lanes = carve_bytes(carve, d.blocks * sizeof *d.lanes);
    d.bias = carve_floats(carve, d.blocks * LANES);
    d.weights = carve_floats(carve, d.blocks * LANES * d.sizes.taps);
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

/* Sets the lanes of an output block; returns false if they come from more than two input blocks.
 * Unused lanes repeat the last used one. */
static bool set_lanes(const struct conv_sizes *s, size_t block, struct lanes *lanes)
{
    const size_t last = s->groups * s->outputs - 1;
    bool two = false;
    *lanes = (struct lanes){.straight = true};
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
        lanes->straight &= lanes->places[lane] == (int)lane;
    }
    return true;
}

static void prepare_depthwise(const struct kernel_call *call)
{
    struct carve carve = {.base = call->prepared};
    const struct depthwise d = depthwise_of(call->site, &carve);
    const struct conv_sizes *s = &d.sizes;
    const bool has_bias = call->site->node->attributes.conv.bias;
    memcpy(call->prepared, &d, sizeof d);
    for (size_t i = 0; i < d.blocks * LANES; i++) {
        const size_t block = i / LANES, lane = i % LANES;
        const bool used = i < s->groups * s->outputs;
        const struct affine affine =
            used ? KERNEL(blocked_affine)(call, i, has_bias ? call->parameters[1][i] : 0)
                 : (struct affine){0};
        if (lane == 0)
            set_lanes(s, block, &d.lanes[block]);
        d.bias[i] = affine.shift;
        for (size_t tap = 0; tap < s->taps; tap++)
            d.weights[(block * s->taps + tap) * LANES + lane] =
                used ? element_round(call->parameters[0][i * s->taps + tap]) * affine.scale : 0;
    }
}

/* --- sums --- */

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Returns the lanes of `lanes` from the two input blocks at `first` and `second`. */
ALWAYS_INLINE vector load_lanes(const struct lanes *lanes, const element *first,
                                const element *second, const bool straight)
{
    if (straight)
        return element_load(first);
    return vector_pick_two(element_load(first), element_load(second), lanes->places);
}

/* What all positions of a row share. */
struct row {
    const element *first, *second; /* the input under the window of position 0 */
    const float *weights, *bias;
    const element *summand;
    element *out;
};

/* Computes positions [x, x + count). */
ALWAYS_INLINE void compute_strip(const struct depthwise *d, const struct lanes *lanes,
                                 const struct row *row, size_t x, const int count,
                                 const bool straight)
{
    const struct window *w = &d->sizes.window;
    const size_t step = w->stride_width * LANES;
    const float *weights = row->weights;
    vector sum[STRIP];
#pragma GCC unroll 8
    for (int p = 0; p < count; p++)
        sum[p] = vector_load(row->bias);
    const size_t down = d->sizes.dilation_height * d->in.row;
    const size_t across = d->sizes.dilation_width * LANES;
    for (size_t ky = 0; ky < w->kernel_height; ky++)
        for (size_t kx = 0; kx < w->kernel_width; kx++, weights += LANES) {
            const size_t at = ky * down + kx * across + x * step;
            const vector weight = vector_load(weights);
#pragma GCC unroll 8
            for (int p = 0; p < count; p++)
                sum[p] += weight * load_lanes(lanes, row->first + at + (size_t)p * step,
                                              row->second + at + (size_t)p * step, straight);
        }
#pragma GCC unroll 8
    for (int p = 0; p < count; p++) {
        const size_t at = (x + (size_t)p) * LANES;
        element_store(row->out + at, epilogue_apply(&d->epilogue, sum[p],
                                                    row->summand ? row->summand + at : NULL));
    }
}

ALWAYS_INLINE void compute_row(const struct depthwise *d, const struct lanes *lanes,
                               const struct row *row, const bool straight)
{
    const size_t width = d->sizes.out.width;
    size_t x = 0;
    for (; x + STRIP <= width; x += STRIP)
        compute_strip(d, lanes, row, x, STRIP, straight);
    for (; x + STRIP / 2 <= width; x += STRIP / 2)
        compute_strip(d, lanes, row, x, STRIP / 2, straight);
    for (; x < width; x++)
        compute_strip(d, lanes, row, x, 1, straight);
}

static void compute_band(const struct depthwise *d, const struct blocked_band *band)
{
    const struct window *w = &d->sizes.window;
    const struct lanes *lanes = &d->lanes[band->plane];
    const struct blocked *summand = &d->epilogue.summand;
    /* the padding of the input is at least that of the window */
    const size_t before = w->pad_height * d->in.row + w->pad_width * LANES;
    for (size_t y = band->begin; y < band->end; y++) {
        const size_t from = y * w->stride_height;
        const struct row row = {
            .first = blocked_at(&d->in, band->image, lanes->first, from) - before,
            .second = blocked_at(&d->in, band->image, lanes->second, from) - before,
            .weights = d->weights + band->plane * d->sizes.taps * LANES,
            .bias = d->bias + band->plane * LANES,
            .summand = summand->values ? blocked_at(summand, band->image, band->plane, y) : NULL,
            .out = blocked_at(&d->out, band->image, band->plane, y)};
        if (lanes->straight)
            compute_row(d, lanes, &row, true);
        else
            compute_row(d, lanes, &row, false);
    }
    blocked_pad(&d->out, band->image, band->plane, band->begin, band->end);
}

static void depthwise_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct depthwise *d = context;
    struct blocked_band band = blocked_first(&d->tasks, task);
    while (blocked_next(&d->tasks, &band))
        compute_band(d, &band);
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
    struct blocked_band band = {.image = rows->image, .begin = rows->begin, .end = rows->end};
    for (; band.plane < d.blocks; band.plane++)
        compute_band(&d, &band);
}

static size_t bands_depthwise(const struct kernel_site *site)
{
    const struct conv_sizes s = conv_sizes_of(site);
    return blocked_bands(site, row_work(&s));
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
    .bands = bands_depthwise,
};

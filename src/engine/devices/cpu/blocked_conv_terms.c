/* The terms of a convolution to a channel-blocked array (blocked_conv.h): where they lie in the
 * source, and their packed weights.
 *
 *   offsets   [pair of residues][group][channels / TERM_VALUES][ky][term along x]
 *   weights   [pair of residues][column][term][float][block of the column][lane]
 *
 * A term has one float for each lane: a weight or, in bf16, a pair of them. With AMX it has a block
 * of channels under one or two neighbouring elements of the window, which are neighbours in the
 * source as well, and thus 8 or 16 pairs.
 */
#include "engine/devices/cpu/blocked_conv.h"

/* Sets the columns: neighbouring blocks of one group form pairs. */
static void set_columns(struct blocked_conv *c)
{
    c->column_count = 0;
    for (size_t block = 0, next; block < c->out_blocks; block = next) {
        size_t begin, end, next_begin = 0, next_end = 0;
        KERNEL(blocked_conv_groups)(c, block, &begin, &end);
        if (block + 1 < c->out_blocks)
            KERNEL(blocked_conv_groups)(c, block + 1, &next_begin, &next_end);
        const bool pair =
            block + 1 < c->out_blocks && end - begin == 1 && next_begin == begin && next_end == end;
        next = block + 1 + pair;
        c->columns[c->column_count++] =
            (struct column){.block = block,
                            .blocks = next - block,
                            .two_groups = end - begin == 2,
                            .split = (begin + 1) * c->to_channels - block * LANES};
    }
}

void KERNEL(blocked_conv_groups)(const struct blocked_conv *c, size_t block, size_t *begin,
                                 size_t *end)
{
    *begin = block * LANES / c->to_channels;
    *end = divide_up(min_size(c->to.channels, (block + 1) * LANES), c->to_channels);
}

/* --- terms --- */

struct conv_terms KERNEL(blocked_conv_terms)(const struct blocked_conv *c, size_t ry, size_t rx)
{
    const struct conv_residue *y = &c->y.of[ry], *x = &c->x.of[rx];
    const size_t before = y->terms_before * c->x.terms + y->terms * x->terms_before;
    return (struct conv_terms){.y = y,
                               .x = x,
                               .count = c->term_channels * y->terms * x->terms,
                               .before = c->term_channels * before};
}

/* Returns the offsets of a column, which all columns of one group share. */
size_t *KERNEL(blocked_conv_offsets)(const struct blocked_conv *c, const struct conv_terms *terms,
                                     size_t column)
{
    if (c->sizes.groups == 1)
        return c->offsets + terms->before;
    return c->offsets + 2 * (terms->before * c->column_count + column * terms->count);
}

float *KERNEL(blocked_conv_weights)(const struct blocked_conv *c, const struct conv_terms *terms,
                                    const struct column *column)
{
    return c->weights +
           c->term_floats * LANES * (terms->before * c->out_blocks + column->block * terms->count);
}

size_t KERNEL(blocked_conv_offset)(const struct blocked_conv *c, size_t channel, ptrdiff_t y,
                                   ptrdiff_t x)
{
    const struct source *source = &c->source;
    const struct channel_moves none = {.channels = c->from.channels};
    const struct channel_move move =
        channel_move_of(c->backward ? &none : &c->sizes.moves, channel);
    const size_t row = (size_t)((ptrdiff_t)source->top + y - move.dy);
    const size_t column = (size_t)((ptrdiff_t)source->left + x - move.dx);
    return move.channel / source->block * source->plane + move.channel % source->block +
           row * source->row + column * source->block;
}

/* Returns how many elements of the window a term has along x. */
static size_t term_taps(const struct conv_residue *x)
{
    return min_size(TERM_TAPS, x->taps);
}

/* Returns the first window element of a term along x. If the number of elements is odd, the last
 * term overlaps the one before: it then reads nothing behind the last element. */
static size_t first_tap(const struct conv_residue *x, size_t term)
{
    return min_size(term * TERM_TAPS, x->taps - term_taps(x));
}

/* Writes where the terms lie in the source: the element of the window that lies first there. */
static void write_offsets(const struct blocked_conv *c, const struct conv_terms *terms,
                          size_t group, size_t *to)
{
    const struct conv_residue *y = terms->y, *x = terms->x;
    for (size_t i = 0; i < c->from_channels; i += TERM_VALUES)
        for (size_t ky = 0; ky < y->taps; ky++)
            for (size_t term = 0; term < x->terms; term++) {
                const size_t kx = first_tap(x, term) + (x->direction < 0 ? term_taps(x) - 1 : 0);
                *to++ = KERNEL(blocked_conv_offset)(c, group * c->from_channels + i,
                                                    y->at + y->direction * (ptrdiff_t)ky,
                                                    x->at + x->direction * (ptrdiff_t)kx);
            }
}

/* Writes a weight to one lane of the terms: that of channel `i` under window element (ky, kx). The
 * values of a term are in the order in which the source has them. */
static void store_weight(const struct blocked_conv *c, const struct conv_terms *terms, size_t i,
                         size_t ky, size_t kx, float weight, float *to, size_t stride)
{
    const size_t of_float = min_size(TERM_VALUES, 2); /* values */
    const struct conv_residue *x = terms->x;
    const size_t along = kx / TERM_TAPS, later = kx - first_tap(x, along);
    const size_t place = x->direction < 0 ? term_taps(x) - 1 - later : later;
    const size_t term = (i / TERM_VALUES * terms->y->taps + ky) * x->terms + along;
    const size_t number = place * TERM_VALUES + i % TERM_VALUES;
    term_store(to + (term * c->term_floats + number / of_float) * stride, number % of_float,
               weight);
}

/* Packs the weights of one lane of a column, scaled: those of one result channel. */
static void pack_lane(const struct blocked_conv *c, const struct conv_terms *terms, size_t channel,
                      float scale, float *to, size_t stride)
{
    const struct conv_sizes *s = &c->sizes;
    const size_t group = channel / c->to_channels, number = channel % c->to_channels;
    const size_t row = s->inputs * s->taps; /* weights of an output channel */
    const float *from =
        c->call->parameters[0] + group * s->outputs * row + number * (c->backward ? s->taps : row);
    for (size_t i = 0; i < c->from_channels; i++, from += c->backward ? row : s->taps)
        for (size_t ky = 0; ky < terms->y->taps; ky++)
            for (size_t kx = 0; kx < terms->x->taps; kx++) {
                const size_t y = terms->y->first_tap + ky * terms->y->tap_step;
                const size_t x = terms->x->first_tap + kx * terms->x->tap_step;
                store_weight(c, terms, i, ky, kx, from[y * s->window.kernel_width + x] * scale, to,
                             stride);
            }
}

static void clear_lane(const struct blocked_conv *c, const struct conv_terms *terms, float *to,
                       size_t stride)
{
    for (size_t k = 0; k < terms->count * c->term_floats; k++)
        to[k * stride] = 0;
}

/* Writes the weights of a column, and the bias of its channels. */
static void pack_column(const struct blocked_conv *c, const struct conv_terms *terms,
                        const struct column *column)
{
    const size_t stride = column->blocks * LANES;
    const bool has_bias = !c->backward && c->call->site->node->attributes.conv.bias;
    float *to = KERNEL(blocked_conv_weights)(c, terms, column);
    for (size_t lane = 0; lane < stride; lane++) {
        const size_t channel = column->block * LANES + lane;
        if (channel >= c->to.channels || TERM_TAPS > 1 || c->from_channels % TERM_VALUES)
            clear_lane(c, terms, to + lane, stride);
        if (channel >= c->to.channels) {
            c->bias[channel] = 0;
            continue;
        }
        const struct affine affine = KERNEL(blocked_affine)(
            c->call, channel, has_bias ? c->call->parameters[1][channel] : 0);
        pack_lane(c, terms, channel, affine.scale, to + lane, stride);
        c->bias[channel] = affine.shift;
    }
}

/* Prepares one column for one pair of residues. */
static void prepare_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct blocked_conv *c = context;
    const size_t number = task % c->column_count, pair = task / c->column_count;
    const struct conv_terms terms =
        KERNEL(blocked_conv_terms)(c, pair / c->x.count, pair % c->x.count);
    const struct column *column = &c->columns[number];
    const size_t group = column->block * LANES / c->to_channels;
    size_t *offsets = KERNEL(blocked_conv_offsets)(c, &terms, number);
    if (c->sizes.groups > 1 || number == 0)
        write_offsets(c, &terms, group, offsets);
    if (column->two_groups)
        write_offsets(c, &terms, group + 1, offsets + terms.count);
    pack_column(c, &terms, column);
}

void KERNEL(blocked_conv_prepare)(struct blocked_conv *c, const struct kernel_call *call)
{
    c->call = call;
    set_columns(c);
    run_tasks(call, c->y.count * c->x.count * c->column_count, prepare_task, c);
}

/* The weights of a correlation, packed in the order in which tiles read them: for each group,
 * residue and tile, the weights of the tile's rows lie together term by term. */
#include "engine/devices/cpu/correlation.h"

/* Packs weights[term][row] of one tile of the forward pass, whose rows are output channels. */
static void pack_forward(const struct correlation *c, size_t channel, size_t rows, float *to)
{
    const size_t terms = c->sizes.inputs * c->sizes.taps;
    const float *from = c->call->parameters[0] + channel * terms;
    for (size_t k = 0; k < terms; k++)
        for (size_t r = 0; r < rows; r++)
            *to++ = from[r * terms + k];
}

/* Packs weights[term][row] of one tile and residue of the backward pass, whose rows are input
 * channels. */
static void pack_backward(const struct correlation *c, size_t group, size_t first, size_t rows,
                          const struct residue *y, const struct residue *x, float *to)
{
    const struct conv_sizes *s = &c->sizes;
    for (size_t o = 0; o < s->outputs; o++) {
        const float *from =
            c->call->parameters[0] + ((group * s->outputs + o) * s->inputs + first) * s->taps;
        for (size_t ty = 0; ty < y->taps; ty++)
            for (size_t tx = 0; tx < x->taps; tx++)
                for (size_t r = 0; r < rows; r++)
                    *to++ = from[r * s->taps +
                                 (y->first_tap + ty * y->tap_step) * s->window.kernel_width +
                                 x->first_tap + tx * x->tap_step];
    }
}

float *KERNEL(correlation_packed)(const struct correlation *c, size_t group, size_t ry, size_t rx,
                                  size_t tile)
{
    size_t terms = 0; /* terms in the residues before this one */
    for (size_t i = 0; i < ry * c->residues_x + rx; i++)
        terms += residue_terms(c, i / c->residues_x, i % c->residues_x);
    return c->weights + group * c->rows * c->source_channels * c->sizes.taps + terms * c->rows +
           residue_terms(c, ry, rx) * piece_begin(c->rows, c->tiles, tile);
}

static void pack_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct correlation *c = context;
    const size_t group = task / c->tiles, tile = task % c->tiles;
    const size_t first = piece_begin(c->rows, c->tiles, tile);
    const size_t rows = piece_begin(c->rows, c->tiles, tile + 1) - first;
    if (!c->backward) {
        pack_forward(c, group * c->rows + first, rows,
                     KERNEL(correlation_packed)(c, group, 0, 0, tile));
        return;
    }
    for (size_t ry = 0; ry < c->residues_y; ry++)
        for (size_t rx = 0; rx < c->residues_x; rx++)
            pack_backward(c, group, first, rows, &c->y[ry], &c->x[rx],
                          KERNEL(correlation_packed)(c, group, ry, rx, tile));
}

void KERNEL(correlation_pack)(const struct correlation *c)
{
    run_tasks(c->call, c->groups * c->tiles, pack_task, c);
}

/* Stores the results of a panel from scratch into the destination: row by row, with the stride of
 * the panel's residue, and in the backward pass of a convolution that reads its input through a
 * channel move, to where each channel came from. */
#include "engine/devices/cpu/correlation.h"

/* Stores whole rows of the destination, whose results lie `pitch` apart. Rows are stored in whole
 * vectors if memory follows them: the next row overwrites the excess. */
static void store_rows(const struct correlation *c, const float *results, float *to, size_t rows)
{
    const size_t width = c->destination.width, whole = round_up(width, LANES);
    const float *end = to + rows * width;
    for (; rows > 0 && !c->accumulate && (size_t)(end - to) >= whole; rows--) {
        for (size_t i = 0; i < whole; i += LANES)
            vector_store(to + i, vector_load(results + i));
        to += width;
        results += c->layout.pitch;
    }
    for (; rows > 0; rows--, to += width, results += c->layout.pitch)
        store_row(c, results, width, to, 1);
}

/* Stores the results of one channel. */
static void store_results(const struct correlation *c, const struct panel *p, const float *results,
                          float *plane)
{
    const struct residue *y = p->y, *x = p->x;
    const size_t width = c->destination.width;
    float *to = plane + (y->first + p->first_row * y->step) * width + x->first;
    if (x->step == 1 && y->step == 1)
        store_rows(c, results, to, p->rows);
    else
        for (size_t row = 0; row < p->rows; row++, to += y->step * width)
            store_row(c, results + row * c->layout.pitch, x->count, to, x->step);
}

/* Stores a row of the gradient of a shifted input, moved back by dx. The column that came from
 * outside the image is dropped, and the one that moved out of the image gets 0. */
static void store_row_back(const struct correlation *c, const float *results, float *to,
                           const struct residue *x, ptrdiff_t dx)
{
    bool drops_first = false, drops_last = false;
    const size_t last = x->first + (x->count - 1) * x->step, width = c->destination.width;
    size_t column = channel_move_back(x->first, dx, width, &drops_first);
    if (x->count > 1)
        channel_move_back(last, dx, width, &drops_last);
    if ((drops_first || drops_last) && !c->accumulate)
        to[dx > 0 ? width - 1 : 0] = 0;
    if (drops_first)
        column = x->first + x->step - (size_t)dx;
    if (x->count > (size_t)drops_first + drops_last)
        store_row(c, results + drops_first, x->count - drops_first - drops_last, to + column,
                  x->step);
}

/* Stores all rows of a channel of the gradient of a shifted input. */
static void store_results_back(const struct correlation *c, const struct panel *p,
                               const float *results, float *plane, const struct channel_move *move)
{
    const struct residue *y = p->y, *x = p->x;
    for (size_t row = 0; row < p->rows; row++, results += c->layout.pitch) {
        bool outside;
        const size_t at = channel_move_back(y->first + (p->first_row + row) * y->step, move->dy,
                                            c->destination.height, &outside);
        float *to = plane + at * c->destination.width;
        if (!outside)
            store_row_back(c, results, to, x, move->dx);
        else if (!c->accumulate)
            for (size_t i = 0; i < x->count; i++)
                to[x->first + i * x->step] = 0;
    }
}

void KERNEL(correlation_store)(const struct correlation *c, const struct panel *p)
{
    const struct channel_moves none = {.channels = c->groups * c->rows};
    const float *results = p->results;
    for (size_t r = first_channel(c, p->begin); r < first_channel(c, p->end); r++) {
        const size_t channel = p->group * c->rows + r;
        const struct channel_move move =
            channel_move_of(c->backward ? &c->sizes.moves : &none, channel);
        float *plane = panel_plane(c, p, move.channel);
        if (move.dy || move.dx)
            store_results_back(c, p, results, plane, &move);
        else
            store_results(c, p, results, plane);
        results += result_stride(c);
    }
}

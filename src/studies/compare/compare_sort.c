/* Sorts the rows of a comparison by one figure. */
#include "studies/compare/compare_figures.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 128 }; /* bytes of a name that count */

/* Rows are sorted by these keys. `value` is lower for rows that come first. */
struct sort_key {
    double value;
    char text[TEXT];
    size_t row;
    bool known;
};

/* Rows with equal keys keep their order. */
static int by_key(const void *a, const void *b)
{
    const struct sort_key *p = a, *q = b;
    if (p->known != q->known)
        return p->known ? -1 : 1;
    if (p->known && p->value != q->value)
        return p->value < q->value ? -1 : 1;
    const int order = p->known ? strcmp(p->text, q->text) : 0;
    return order != 0 ? order : p->row < q->row ? -1 : p->row > q->row;
}

static int by_key_backwards(const void *a, const void *b)
{
    const struct sort_key *p = a, *q = b;
    const int order = strcmp(p->text, q->text);
    return p->known && q->known && order != 0 ? -order : by_key(a, b);
}

static void fill_key(const struct comparison *comparison, size_t row,
                     const struct compare_figure *figure, bool reverse, struct sort_key *key)
{
    const bool high = compare_figure_direction(figure) == FIGURE_MORE;
    key->row = row;
    if (compare_figure_is_text(figure)) {
        compare_figure_text(comparison, row, figure, key->text, sizeof key->text);
        key->known = key->text[0];
        return;
    }
    const double value = compare_figure_value(comparison, row, figure);
    key->known = isfinite(value);
    key->value = !key->known ? 0 : high != reverse ? -value : value;
}

bool compare_sort(struct comparison *comparison, const char *column, bool reverse,
                  struct error *error)
{
    struct compare_figure figure;
    if (!compare_find_figure(comparison, column, &figure, error))
        return false;
    struct sort_key *keys = memory_new(comparison->count, sizeof *keys, "the comparison", error);
    struct compare_row *rows = memory_new(comparison->count, sizeof *rows, "the comparison", error);
    const bool sorted = keys && rows;
    if (sorted && comparison->count > 0) {
        for (size_t i = 0; i < comparison->count; i++)
            fill_key(comparison, i, &figure, reverse, &keys[i]);
        qsort(keys, comparison->count, sizeof *keys, reverse ? by_key_backwards : by_key);
        for (size_t i = 0; i < comparison->count; i++)
            rows[i] = comparison->rows[keys[i].row];
        memcpy(comparison->rows, rows, comparison->count * sizeof *rows);
    }
    free(keys);
    free(rows);
    return sorted;
}

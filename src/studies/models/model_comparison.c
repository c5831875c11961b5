/* Compares the rows of the table: finds the model that a row was made from, the gain over it, the
 * fronts of accuracy against time, size and FLOPs, and the order of the rows. */
#include "studies/models/model_table.h"

#include "base/memory.h"
#include "studies/compare/pareto.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- origins and gains --- */

static bool have_same_data(const struct model_row *a, const struct model_row *b)
{
    return a->data_key[0] && strcmp(a->data_key, b->data_key) == 0;
}

bool model_row_is_made_from(const struct model_row *made, const struct model_row *from)
{
    const struct model_description *facts = &made->figures.facts, *before = &from->figures.facts;
    return strcmp(before->name, made->origin) == 0 && strchr(facts->name, '+') &&
           facts->parent[0] && strcmp(facts->parent, before->checksum) == 0;
}

/* Returns whether row `other` is the plain network of a row with a technique before training. */
static bool is_plain_of(const struct model_row *model, const struct model_row *other)
{
    return !strchr(model->figures.facts.name, '+') && have_same_data(model, other) &&
           strcmp(other->figures.facts.name, model->origin) == 0;
}

static size_t find_origin(const struct model_table *table, size_t row)
{
    size_t found = MODEL_NO_ROW;
    const struct model_row *model = &table->rows[row];
    for (size_t i = 0; model->origin[0] && i < table->count; i++) {
        const struct model_row *other = &table->rows[i];
        if (i == row || (!is_plain_of(model, other) && !model_row_is_made_from(model, other)))
            continue;
        const bool same = have_same_data(model, other);
        const bool before = found != MODEL_NO_ROW && have_same_data(model, &table->rows[found]);
        if (found == MODEL_NO_ROW || (same && !before) ||
            (same == before && !(other->now.top1 <= table->rows[found].now.top1)))
            found = i;
    }
    return found;
}

static double ratio(double origin, double model)
{
    return origin > 0 && model > 0 ? origin / model : (double)NAN;
}

bool model_table_turns(const struct model_table *table, size_t a, size_t b, struct turns *turns)
{
    const struct model_figures *x = &table->rows[a].figures, *y = &table->rows[b].figures;
    const struct model_pair *pair =
        model_figures_pair(x, y->facts.checksum, table->device, table->threads);
    const struct model_pair *reverse =
        pair ? NULL : model_figures_pair(y, x->facts.checksum, table->device, table->threads);
    if (pair)
        *turns = pair->turns;
    else if (reverse)
        *turns = turns_swapped(&reverse->turns);
    return pair || reverse;
}

/* Returns how many times faster a row is than its origin: 1 if turns show no difference, and NaN
 * without a verdict. */
static double time_gain(const struct model_table *table, const struct model_row *row)
{
    struct turns turns;
    if (!model_table_turns(table, (size_t)(row - table->rows), row->origin_row, &turns))
        return (double)NAN;
    const struct turns_test test = turns_test(&turns);
    return test.verdict == TURNS_NONE    ? (double)NAN
           : test.verdict == TURNS_ALIKE ? 1
                                         : 1 / test.ratio;
}

static void set_gain(const struct model_table *table, struct model_row *row)
{
    const double nan = (double)NAN;
    row->gain = (struct model_gain){nan, nan, nan, nan, nan, nan};
    if (row->origin_row == MODEL_NO_ROW)
        return;
    const struct model_row *origin = &table->rows[row->origin_row];
    const struct model_description *from = &origin->figures.facts, *to = &row->figures.facts;
    row->gain.points = have_same_data(row, origin) ? row->now.top1 - origin->now.top1 : nan;
    row->gain.ms = time_gain(table, row);
    if (isnan(row->gain.ms))
        row->gain.ms_apart = ratio(row->now.ms, origin->now.ms);
    row->gain.bytes = ratio((double)from->bytes, (double)to->bytes);
    row->gain.flops = ratio((double)from->flops, (double)to->flops);
    row->gain.parameters = ratio((double)from->parameters, (double)to->parameters);
}

/* --- fronts --- */

struct run_figures model_row_figures(const struct model_row *row)
{
    const struct model_description *facts = &row->figures.facts;
    struct run_figures figures = run_figures_unknown();
    figures.top1 = row->now.top1;
    figures.ms = row->timed ? row->now.ms : (double)NAN;
    figures.joules = row->now.joules;
    figures.parameters = figure_of_count(facts->parameters);
    figures.model_bytes = figure_of_count(facts->bytes);
    figures.flops = figure_of_count(facts->flops);
    figures.e_p = figures.top1 / figures.parameters;
    return figures;
}

static enum pareto_order order_times(const struct model_table *table, size_t a, size_t b)
{
    static const enum pareto_order orders[] = {[TURNS_NONE] = PARETO_UNKNOWN,
                                               [TURNS_ALIKE] = PARETO_EQUAL,
                                               [TURNS_FIRST_FASTER] = PARETO_BETTER,
                                               [TURNS_SECOND_FASTER] = PARETO_WORSE};
    struct turns turns;
    return model_table_turns(table, a, b, &turns) ? orders[turns_test(&turns).verdict]
                                                  : PARETO_UNKNOWN;
}

/* Marks the points that no other one dominates in accuracy and time. */
static void mark_times(struct model_table *table, const struct pareto_point *points, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool dominated = false;
        for (size_t k = 0; k < count && !dominated; k++)
            dominated =
                k != i && pareto_dominates(order_times(table, points[k].row, points[i].row),
                                           pareto_order_numbers(points[k].y, points[i].y, true));
        if (!dominated)
            table->rows[points[i].row].front |= MODEL_FRONT_MS;
    }
}

/* Marks the front of one figure among the rows that have the data set of row `first`. */
static void mark_front(struct model_table *table, size_t first, unsigned front,
                       struct pareto_point *points)
{
    const enum figure cost = front == MODEL_FRONT_MS      ? FIGURE_TIME
                             : front == MODEL_FRONT_BYTES ? FIGURE_SIZE
                                                          : FIGURE_FLOPS;
    size_t count = 0;
    for (size_t i = first; i < table->count; i++) {
        const struct run_figures figures = model_row_figures(&table->rows[i]);
        const double x = figure_of(&figures, cost);
        if (have_same_data(&table->rows[i], &table->rows[first]) && isfinite(figures.top1) && x > 0)
            points[count++] = (struct pareto_point){x, figures.top1, i};
    }
    if (front == MODEL_FRONT_MS) {
        mark_times(table, points, count);
        return;
    }
    count = pareto_front(points, count, false, true);
    for (size_t i = 0; i < count; i++)
        table->rows[points[i].row].front |= front;
}

static bool is_first_of_data(const struct model_table *table, size_t row)
{
    for (size_t i = 0; i < row; i++)
        if (have_same_data(&table->rows[i], &table->rows[row]))
            return false;
    return table->rows[row].data_key[0];
}

size_t model_table_data_sets(const struct model_table *table)
{
    size_t count = 0;
    for (size_t i = 0; i < table->count; i++)
        count += is_first_of_data(table, i);
    return count;
}

void model_table_complete(struct model_table *table)
{
    struct pareto_point *points = memory_new(table->count, sizeof *points, "a front", NULL);
    for (size_t i = 0; i < table->count; i++) {
        struct model_row *row = &table->rows[i];
        row->front = 0;
        row->origin_row = find_origin(table, i);
        set_gain(table, row);
    }
    for (size_t i = 0; points && i < table->count; i++)
        for (unsigned front = MODEL_FRONT_MS; front <= MODEL_FRONT_FLOPS; front *= 2)
            if (is_first_of_data(table, i))
                mark_front(table, i, front, points);
    free(points);
}

/* --- sorting --- */

const char *const model_sort_names[] = {"name", "accuracy", "parameters", "size", "flops",
                                        "ms",   "energy",   "e_p",        NULL};

static const enum figure sort_figures[] = {FIGURE_NETWORK, FIGURE_TOP1,      FIGURE_PARAMETERS,
                                           FIGURE_SIZE,    FIGURE_FLOPS,     FIGURE_TIME,
                                           FIGURE_ENERGY,  FIGURE_EFFICIENCY};

/* Returns a number that is low for good rows; NaN: not known. */
static double sort_value(const struct model_row *row, size_t key)
{
    const struct run_figures figures = model_row_figures(row);
    const double value = figure_of(&figures, sort_figures[key]);
    return figure_rows[sort_figures[key]].better == FIGURE_MORE ? -value : value;
}

static bool comes_before(const struct model_row *a, const struct model_row *b, size_t key)
{
    if (sort_figures[key] == FIGURE_NETWORK)
        return strcmp(a->figures.facts.name, b->figures.facts.name) < 0;
    const double x = sort_value(a, key), y = sort_value(b, key);
    return isnan(y) ? !isnan(x) : x < y;
}

void model_table_sort(struct model_table *table, size_t key)
{
    for (size_t i = 1; i < table->count; i++) { /* insertion: equal rows keep their order */
        const struct model_row row = table->rows[i];
        size_t place = i;
        for (; place > 0 && comes_before(&row, &table->rows[place - 1], key); place--)
            table->rows[place] = table->rows[place - 1];
        table->rows[place] = row;
    }
    model_table_complete(table);
}

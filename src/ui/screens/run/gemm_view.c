/* The matrix products of an iteration by kind and shape, as Trindade's study tabulated SGEMM calls.
 * The kinds nn, nt and tn say which operand is transposed. Seconds are summed over all threads. */
#include "ui/app/app.h"
#include "ui/screens/run/internal.h"

#include "base/language.h"
#include "base/text.h"

#include <stddef.h>
#include <stdio.h>

enum { NET, KIND, M, N, K, CALLS, SECONDS, SHARE, SPEED, COLUMNS };
static const struct table_column columns[COLUMNS] = {
    [NET] = {N_("NET"), 4, 0, false, false},
    [KIND] = {N_("KIND"), 6, 0, false, false},
    [M] = {"M", 7, 3, true, false},
    [N] = {"N", 7, 3, true, false},
    [K] = {"K", 7, 3, true, false},
    [CALLS] = {N_("CALLS"), 9, 1, true, false},
    [SECONDS] = {N_("SECONDS"), 9, 0, true, false},
    [SHARE] = {N_("SHARE %"), 8, 2, true, false},
    [SPEED] = {N_("GFLOP/s"), 8, 4, true, false},
};

struct context {
    const struct inspection *seen;
    size_t first;
};

static const struct gemm_row *product_at(const struct inspection *seen, size_t row, size_t *network)
{
    for (*network = 0; row >= seen->networks[*network].gemm_count; ++*network)
        row -= seen->networks[*network].gemm_count;
    return &seen->networks[*network].gemm[row];
}

/* Returns `seconds` as a share of the time that all threads together had. */
static double share(const struct inspection *seen, double seconds)
{
    return 100 * seconds / (seen->seconds * (double)seen->threads);
}

static double key(const void *data, size_t row, size_t column)
{
    const struct context *context = data;
    size_t network;
    const struct gemm_row *product = product_at(context->seen, row, &network);
    switch (column + context->first) {
    case M:
        return (double)product->m;
    case N:
        return (double)product->n;
    case K:
        return (double)product->k;
    case CALLS:
        return (double)product->calls;
    case SPEED:
        return 2.0 * (double)product->m * (double)product->n * (double)product->k *
               (double)product->calls / product->seconds * 1e-9;
    default:
        return product->seconds;
    }
}

static void cell(const void *data, size_t row, size_t column, char *text, size_t size)
{
    const struct context *context = data;
    size_t network;
    const struct gemm_row *product = product_at(context->seen, row, &network);
    switch (column + context->first) {
    case NET:
        snprintf(text, size, "%s", network == 0 ? "G" : "D");
        break;
    case KIND:
        snprintf(text, size, "%s", gemm_kind_name(product->kind));
        break;
    case SECONDS:
        snprintf(text, size, "%.4f", product->seconds);
        break;
    case SHARE:
        snprintf(text, size, "%.1f", share(context->seen, product->seconds));
        break;
    case SPEED:
        snprintf(text, size, "%.1f", key(data, row, column));
        break;
    default:
        snprintf(text, size, "%.0f", key(data, row, column));
        break;
    }
}

struct sum {
    unsigned long long calls;
    double seconds;
};

static void sum_up(const struct inspection *seen, struct sum sums[GEMM_TN + 2])
{
    struct sum *all = &sums[GEMM_TN + 1];
    for (size_t n = 0; n < seen->network_count; n++)
        for (size_t i = 0; i < seen->networks[n].gemm_count; i++) {
            const struct gemm_row *product = &seen->networks[n].gemm[i];
            sums[product->kind].calls += product->calls;
            sums[product->kind].seconds += product->seconds;
            all->calls += product->calls;
            all->seconds += product->seconds;
        }
}

/* Draws the sums by kind, as in the study's table. */
static void draw_sums(struct canvas *canvas, struct rect area, const struct inspection *seen)
{
    struct sum sums[GEMM_TN + 2] = {0};
    sum_up(seen, sums);
    struct rect inside = {area.row, area.column + 1, area.rows, area.columns - 2};
    int row = 0;
    for (int i = 0; i <= GEMM_TN; i++)
        row = insight_draw_text(canvas, inside, row, ROLE_TEXT,
                                _("%s: %llu calls, %.4f s, %.1f %% of the threads' time"),
                                gemm_kind_name((enum gemm_kind)i), sums[i].calls, sums[i].seconds,
                                share(seen, sums[i].seconds));
    const struct sum *all = &sums[GEMM_TN + 1];
    insight_draw_text(canvas, inside, row, ROLE_STRONG,
                      _("all: %llu calls, %.4f s, %.1f %% of the threads' time"), all->calls,
                      all->seconds, share(seen, all->seconds));
}

static void draw(struct app *app, struct run_entry *entry, const struct run_layout *layout,
                 const struct run_display *display)
{
    (void)display;
    char when[120], whole[200];
    struct insight_table_view *view = &run_model(app)->gemm;
    const struct inspection *seen = insight_get(app, entry, layout->view);
    if (!seen)
        return;
    const struct context context = {seen, seen->network_count > 1 ? NET : KIND};
    struct insight_table table = {.columns = columns + context.first,
                                  .column_count = COLUMNS - context.first,
                                  .context = &context,
                                  .cell = cell,
                                  .key = key,
                                  .sortable = (~0u << M) >> context.first};
    for (size_t n = 0; n < seen->network_count; n++)
        table.row_count += seen->networks[n].gemm_count;
    if (table.row_count == 0) {
        insight_draw_absence(
            &app->canvas, layout->view,
            _("No matrix products: the kernels of this run compute without them (the "
              "device reference never uses them)."));
        return;
    }
    struct insight_layout parts = insight_layout(view, layout->view, GEMM_TN + 2);
    snprintf(whole, sizeof whole, _("%s: matrix products, seconds summed over threads"),
             insight_when(seen, entry, when, sizeof when));
    insight_draw_summary(&app->canvas, parts.summary, ROLE_TEXT, whole, when);
    insight_table_draw(view, &table, &app->canvas, parts.table);
    if (!rect_is_empty(parts.details))
        draw_sums(&app->canvas, parts.details, seen);
}

const struct view view_gemm = {.name = N_("GEMM"),
                               .covers_figures = true,
                               .inspects = true,
                               .draw = draw,
                               .moves = VIEW_TABLE,
                               .table = offsetof(struct run_model, gemm)};

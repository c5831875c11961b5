/* The matrix products of an iteration by kind and shape, as Trindade's study tabulated SGEMM calls.
 * The kinds nn, nt and tn say which operand is transposed. Seconds are summed over all threads. */
#include "ui/app/app.h"
#include "ui/screens/run/internal.h"

#include "base/language.h"
#include "base/text.h"

#include <stddef.h>
#include <stdio.h>

enum { NET, KIND, M, N, K, CALLS, SECONDS, SHARE, SPEED, COLUMNS };
static const struct listing_column columns[COLUMNS] = {
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

/* Returns `seconds` as a share of the time that all threads together had. */
static double share(const struct inspection *seen, double seconds)
{
    return 100 * seconds / (seen->seconds * (double)seen->threads);
}

/* Appends the products of a network; its name stands in the first column if there are several. */
static void add_products(struct table *texts, const struct inspection *seen, size_t network)
{
    for (size_t i = 0; i < seen->networks[network].gemm_count; i++) {
        const struct gemm_row *product = &seen->networks[network].gemm[i];
        const double m = (double)product->m, n = (double)product->n, k = (double)product->k,
                     calls = (double)product->calls;
        if (seen->network_count > 1)
            table_cell(texts, "%s", network == 0 ? "G" : "D");
        table_cell(texts, "%s", gemm_kind_name(product->kind));
        table_number(texts, "%.0f", m);
        table_number(texts, "%.0f", n);
        table_number(texts, "%.0f", k);
        table_number(texts, "%.0f", calls);
        table_number(texts, "%.4f", product->seconds);
        table_number(texts, "%.1f", share(seen, product->seconds));
        table_number(texts, "%.1f", 2 * m * n * k * calls / product->seconds * 1e-9);
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
    struct listing_view *view = &run_model(app)->gemm;
    const struct inspection *seen = insight_get(app, entry, layout->view);
    if (!seen)
        return;
    const size_t first = seen->network_count > 1 ? NET : KIND;
    struct table texts = {.columns = COLUMNS - first};
    for (size_t n = 0; n < seen->network_count; n++)
        add_products(&texts, seen, n);
    if (texts.count == 0) {
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
    const struct listing listing = {columns + first, &texts, (~0u << M) >> first, false, false};
    listing_draw(view, &listing, &app->canvas, parts.table);
    table_free(&texts);
    if (!rect_is_empty(parts.details))
        draw_sums(&app->canvas, parts.details, seen);
}

const struct view view_gemm = {.name = N_("GEMM"),
                               .covers_figures = true,
                               .inspects = true,
                               .draw = draw,
                               .moves = VIEW_TABLE,
                               .table = offsetof(struct run_model, gemm)};

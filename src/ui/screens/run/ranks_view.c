/* The view Ranks: what each of the processes does that train the run together (training/ranks): how
 * long it computes in an iteration, and how long it waits for its images and in the sums. */
#include "ui/app/app.h"
#include "ui/screens/run/internal.h"

#include "base/language.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

enum { RANK, HOST, COMPUTE, DATA, WAIT, SHARE, PROCESS, COLUMNS };
static const struct table_column columns[COLUMNS] = {
    [RANK] = {N_("RANK"), 5, 0, true, false},
    [HOST] = {N_("HOST"), 12, 0, false, true},
    [COMPUTE] = {N_("COMPUTES ms"), 12, 0, true, false},
    [DATA] = {N_("DATA ms"), 9, 2, true, false},
    [WAIT] = {N_("WAITS ms"), 10, 1, true, false},
    [SHARE] = {N_("WAITS %"), 9, 0, true, false},
    [PROCESS] = {N_("PROCESS"), 9, 3, true, false},
};

static double key(const void *context, size_t row, size_t column)
{
    const struct run_ranks *ranks = context;
    const struct rank_work *rank = &ranks->ranks[row];
    switch (column) {
    case COMPUTE:
        return rank->compute_ms;
    case DATA:
        return rank->data_ms;
    case WAIT:
        return rank->wait_ms;
    case SHARE:
        return 100 * rank_work_wait(rank);
    default:
        return (double)row;
    }
}

static void cell(const void *context, size_t row, size_t column, char *text, size_t size)
{
    const struct run_ranks *ranks = context;
    const double value = key(context, row, column);
    if (column == RANK)
        snprintf(text, size, "%zu", row);
    else if (column == HOST)
        snprintf(text, size, "%s", ranks->ranks[row].host);
    else if (column == PROCESS)
        snprintf(text, size, "%llu", (unsigned long long)ranks->ranks[row].process);
    else if (isnan(value))
        snprintf(text, size, "?");
    else
        snprintf(text, size, column == SHARE ? "%.1f" : "%.3f", value);
}

/* Writes which iterations the means are over. */
static void describe_iterations(const struct run_entry *entry, const struct run_ranks *ranks,
                                char *text, size_t size)
{
    const unsigned long long count = ranks->ranks[0].iterations;
    const size_t number = ranks->count;
    char both[80];
    snprintf(both, sizeof both, ngettext("%zu rank", "%zu ranks", number), number);
    if (run_status_is_over(entry->snapshot.status))
        snprintf(text, size,
                 ngettext("%s, mean of %llu iteration", "%s, means of %llu iterations", count),
                 both, count);
    else
        snprintf(text, size,
                 ngettext("%s, the last iteration of %llu", "%s, means of the last %llu iterations",
                          count),
                 both, count);
}

static void draw_details(struct canvas *canvas, struct rect area, const struct run_ranks *ranks)
{
    struct rect inside = {area.row, area.column + 1, area.rows, area.columns - 2};
    struct run_ranks_range range;
    if (!run_ranks_range(ranks, &range)) {
        draw_wrapped(canvas, inside, 0, ROLE_FAINT,
                     _("The ranks tell what they do once a second; nothing has come yet."));
        return;
    }
    int row = insight_draw_text(
        canvas, inside, 0, ROLE_TEXT,
        _("Without waiting, an iteration takes %.4g ms on the fastest rank and %.4g ms on rank "
          "%zu, the slowest."),
        range.fastest, range.slowest, range.slowest_rank);
    insight_draw_text(canvas, inside, row, ROLE_TEXT,
                      _("In sums they wait for the slowest rank and for the network: %.1f to "
                        "%.1f %% of the time."),
                      100 * range.wait_least, 100 * range.wait_most);
}

static void draw(struct app *app, struct run_entry *entry, const struct run_layout *layout,
                 const struct run_display *display)
{
    (void)display;
    char whole[160];
    struct run_model *model = run_model(app);
    struct run_ranks *ranks = &model->ranks;
    if (!run_ranks(entry->run, ranks) || ranks->count == 0)
        return;
    const struct insight_table table = {.columns = columns,
                                        .column_count = COLUMNS,
                                        .row_count = ranks->count,
                                        .context = ranks,
                                        .cell = cell,
                                        .key = key,
                                        .sortable =
                                            1u << COMPUTE | 1u << DATA | 1u << WAIT | 1u << SHARE};
    const struct insight_layout parts = insight_layout(&model->rank_table, layout->view, 4);
    describe_iterations(entry, ranks, whole, sizeof whole);
    draw_text(&app->canvas, parts.summary, 0, 1, ROLE_TEXT, whole);
    insight_table_draw(&model->rank_table, &table, &app->canvas, parts.table);
    if (!rect_is_empty(parts.details))
        draw_details(&app->canvas, parts.details, ranks);
}

static bool available(const struct run_entry *entry)
{
    return entry->run && run_rank_count(entry->run) > 0;
}

const struct view view_ranks = {.name = N_("Ranks"),
                                .covers_figures = true,
                                .available = available,
                                .draw = draw,
                                .moves = VIEW_TABLE,
                                .table = offsetof(struct run_model, rank_table)};

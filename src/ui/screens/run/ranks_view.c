/* The view Ranks: what each of the processes does that train the run together (training/ranks): how
 * long it computes in an iteration, and how long it waits for its images and in the sums. */
#include "ui/app/app.h"
#include "ui/screens/run/internal.h"

#include "base/language.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

enum { RANK, HOST, COMPUTE, DATA, WAIT, SHARE, PROCESS, COLUMNS };
static const struct listing_column columns[COLUMNS] = {
    [RANK] = {N_("RANK"), 5, 0, true, false},
    [HOST] = {N_("HOST"), 12, 0, false, true},
    [COMPUTE] = {N_("COMPUTES ms"), 12, 0, true, false},
    [DATA] = {N_("DATA ms"), 9, 2, true, false},
    [WAIT] = {N_("WAITS ms"), 10, 1, true, false},
    [SHARE] = {N_("WAITS %"), 9, 0, true, false},
    [PROCESS] = {N_("PROCESS"), 9, 3, true, false},
};

/* Appends a time or a share; "?" if no rank has told it yet. */
static void add_number(struct table *texts, const char *format, double value)
{
    table_cell(texts, isnan(value) ? "?" : format, value);
    table_key(texts, value);
}

static void add_rank(struct table *texts, const struct rank_work *rank, size_t number)
{
    table_cell(texts, "%zu", number);
    table_cell(texts, "%s", rank->host);
    add_number(texts, "%.3f", rank->compute_ms);
    add_number(texts, "%.3f", rank->data_ms);
    add_number(texts, "%.3f", rank->wait_ms);
    add_number(texts, "%.1f", 100 * rank_work_wait(rank));
    table_cell(texts, "%llu", (unsigned long long)rank->process);
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
    struct table texts = {.columns = COLUMNS};
    for (size_t i = 0; i < ranks->count; i++)
        add_rank(&texts, &ranks->ranks[i], i);
    const struct listing listing = {
        columns, &texts, 1u << COMPUTE | 1u << DATA | 1u << WAIT | 1u << SHARE, false, false};
    const struct insight_layout parts = insight_layout(&model->rank_table, layout->view, 4);
    describe_iterations(entry, ranks, whole, sizeof whole);
    draw_text(&app->canvas, parts.summary, 0, 1, ROLE_TEXT, whole);
    listing_draw(&model->rank_table, &listing, &app->canvas, parts.table);
    table_free(&texts);
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

/* The logic of the screen Compare, without a terminal. Runs are those of fake_session.c, their
 * measurements real files. */
#include "models/measure/measurement.h"
#include "studies/compare/run_reader.h"
#include "tap.h"
#include "ui/screens/compare/internal.h"
#include "ui/shared/run_list.h"

#include "session_files.h"
#include "studies/compare/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct compare_model view;
static struct run_list kept;

static const char *const ids[] = {"20261118-101500-lenet-0032", "20261119-111500-lenet-0064",
                                  "20261120-111500-pix2pix-0001", "20261121-081500-resnet20-0032"};
enum { IDS = sizeof ids / sizeof *ids };

static bool make_saved_run(const char *id, double ms, double ci95)
{
    char path[600];
    struct error error;
    snprintf(path, sizeof path, "%s/tinca", test_home);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/tinca/runs", test_home);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/tinca/runs/%s", test_home, id);
    mkdir(path, 0700);
    struct measurement measurement = {.on.device = "cpu",
                                      .on.threads = 2,
                                      .images = 100,
                                      .ms_per_image = {ms, ms, ms, ci95 * 5, ci95},
                                      .top1 = 90,
                                      .top5 = 99};
    bool made = ms == 0 || measurements_put(path, &measurement, &error);
    snprintf(path, sizeof path, "%s/tinca/runs/%s/config.json", test_home, id);
    return made && write_text(path, "{}");
}

/* Reads a saved run as far as `depth`, and its measurements into `files` (may be NULL). */
static void read_saved_run(enum run_depth depth, size_t index, struct compare_files *files)
{
    struct error error;
    struct run_entry *entry = &kept.entries[index];
    const char *directory = entry->directory;
    struct run_reader *reader = run_reader_start(depth, &directory, 1, &error);
    if (reader && run_reader_wait(reader, 60)) {
        struct run_read *read = run_reader_result(reader, 0);
        run_entry_update(entry, read);
        if (files)
            *files = read->files;
        if (files)
            read->files = (struct compare_files){0};
    }
    run_reader_drop(reader);
}

static void list_saved_runs(const struct run_list *session)
{
    struct error error;
    struct run_listing *listing = run_listing_start(NULL, &error);
    if (tap_ok(listing && run_listing_wait(listing, 60), "the folder of runs is read")) {
        const struct run_ids *found = run_listing_result(listing);
        run_list_add_saved_ids(&kept, session, found->home, found->ids, found->count, &error);
    }
    run_listing_drop(listing);
}

static bool add(struct compare_model *to, size_t index)
{
    struct compare_files files = {0};
    read_saved_run(RUN_DEPTH_COMPARED, index, &files);
    struct error error;
    const bool added = compare_model_add(to, kept.entries[index].run, &files, &error);
    compare_files_free(&files);
    return added;
}

static void test_saved_runs(void)
{
    struct run_list session = {0};
    for (size_t i = 0; i < IDS; i++)
        tap_ok(make_saved_run(ids[i], i == 3 ? 0 : 2 + (double)i * 0.1, i == 0 ? 0.2 : 0.01),
               "a saved run is made");
    list_saved_runs(&session);
    tap_ok(kept.count == IDS && strstr(kept.entries[0].directory, ids[0]),
           "saved runs are found, the oldest first");
    tap_ok(!kept.entries[0].run && !kept.entries[0].outline_known &&
               !run_entry_is_waiting(&kept.entries[0]),
           "a saved run is listed before it is read, and it does not wait");
    read_saved_run(RUN_DEPTH_OUTLINE, 1, NULL);
    tap_ok(kept.entries[1].config.batch == 64 && kept.entries[1].snapshot.status == RUN_DONE &&
               !kept.entries[1].run && strcmp(run_entry_status(&kept.entries[1]), "done") == 0,
           "reading the outline gives the configuration and the status");
    list_saved_runs(&session);
    tap_ok(kept.count == IDS, "a run is listed only once");
    make_saved_run("20261122-000000-broken", 0, 0);
    list_saved_runs(&session);
    read_saved_run(RUN_DEPTH_OUTLINE, IDS, NULL);
    tap_ok(kept.count == IDS + 1 && kept.entries[IDS].refused &&
               strcmp(run_entry_status(&kept.entries[IDS]), "unreadable") == 0,
           "a run that cannot be read is listed as unreadable");
    tap_ok(!run_entry_is_active(&kept.entries[1]) && !run_list_active(&kept),
           "saved runs are not active");
}

static void test_runs(void)
{
    struct compare_files none = {0};
    struct error error;
    char label[128];
    const struct compare_entry *entry = NULL;
    tap_ok(add(&view, 0) && add(&view, 1) &&
               compare_model_add(&view, kept.entries[1].run, &none, &error) && view.count == 2,
           "a run is taken once");
    tap_ok(compare_model_build(&view, &error) && view.table.count == 2, "two runs are two rows");
    entry = &view.curves.entries[1];
    tap_ok(strcmp(compare_curves_label(&view, entry, 99, label, sizeof label), "batch 64") == 0,
           "a label says what tells a run from the others");
    const struct config_field *fields[64];
    tap_ok(compare_model_differences(&view, fields) == 1 && strcmp(fields[0]->key, "batch") == 0,
           "settings that differ");
    add(&view, 3);
    compare_model_build(&view, &error);
    tap_ok(compare_model_differences(&view, fields) == 2 && strcmp(fields[0]->key, "network") == 0,
           "another network is a difference, too");
    entry = &view.curves.entries[2];
    tap_ok(strcmp(compare_curves_label(&view, entry, 99, label, sizeof label),
                  "resnet20, batch 32") == 0,
           "and the label names it");
}

static void test_table(void)
{
    enum { TIME = 12 }; /* after number, network, batch and nine columns of figures */
    struct error error;
    char text[640], upper[128], lower[128];
    compare_model_cell(&view, 0, TIME, text, sizeof text);
    tap_ok(strcmp(text, "2 +- 0.2") == 0, "times of different moments have no mark: %s", text);
    tap_ok(strcmp(compare_model_cell(&view, 2, TIME, text, sizeof text), "?") == 0,
           "what was not measured is a question mark");
    compare_model_heading(&view, TIME - 4, 7, upper, lower, sizeof upper);
    tap_ok(strcmp(upper, "E_P") == 0 && strcmp(lower, "x 10^-3") == 0, "headings take two lines");
    compare_model_heading(&view, TIME - 4, 11, upper, lower, sizeof upper);
    tap_ok(!upper[0] && strcmp(lower, "E_P x 10^-3") == 0, "or one, where there is room for it");
    view.published = true;
    tap_ok(compare_model_build(&view, &error) && view.table.count == 3 + 4,
           "published rows of the networks that are compared");
    compare_model_cell(&view, 3, 1, text, sizeof text);
    tap_ok(text[strlen(text) - 1] == '*' && compare_model_run_of_row(&view, 3) == COMPARE_NO_RUN,
           "are marked as published");
    for (size_t i = 0; strcmp(compare_model_sort_name(&view), "parameters") != 0 && i < 20; i++)
        compare_model_step_sort(&view, 1);
    tap_ok(view.outdated && compare_model_build(&view, &error) &&
               view.table.rows[0].figures.parameters == 24682,
           "sorted by parameters the smallest comes first");
    tap_ok(compare_model_run_of_row(&view, 4) == 0, "a run keeps its place, and has another row");
    compare_model_reverse(&view);
    tap_ok(compare_model_build(&view, &error) && view.table.rows[0].figures.parameters > 24682,
           "and reversed, a large one");
    view.order.reverse = false;
    snprintf(view.order.key, sizeof view.order.key, "%s",
             view.table.devices[view.table.device_count - 1]);
    compare_model_build(&view, &error);
    struct compare_figure figure;
    tap_ok(compare_column_figure(&view.table, view.order.column, &figure) &&
               figure.kind == FIGURE_TIME && figure.device == view.table.device_count - 1,
           "a published device has a column");
    view.published = false;
    tap_ok(compare_model_build(&view, &error) && view.order.column == 0 && view.table.count == 3,
           "without the published rows their columns are gone");
    tap_ok(compare_model_row_mark(0) == '1' && compare_model_row_mark(9) == 'a', "marks of rows");
    tap_ok(strcmp(compare_model_mark(34, text, sizeof text), "z") == 0 &&
               strcmp(compare_model_mark(35, text, sizeof text), "36") == 0,
           "are numbers after the letters");
}

static double value_of(size_t entry)
{
    size_t runs;
    return compare_curves_value(&view, &view.curves.entries[entry], &runs);
}

static void test_curves(void)
{
    struct curve_view wanted = {.x = X_ITERATION, .width = 100};
    struct error error;
    struct axis y;
    tap_ok(compare_curves_update(&view, &wanted, 50, &error) && view.x.high == 1000,
           "one axis holds all runs");
    tap_ok(compare_curves_y_axis(&view, false, false, &y, &error) && y.low == 0 && y.high >= 2 &&
               isfinite(value_of(0)),
           "and their losses");
    plot_window_set_cursor(&view.window, 100);
    tap_ok(value_of(0) > 1, "under the cursor the value is the one of there");
    plot_window_zoom(&view.window, true);
    tap_ok(compare_curves_update(&view, &wanted, 50, &error) && view.x.high < 600 &&
               view.curves.list[0].curves.trace[view.trace].columns[99].any,
           "all runs are zoomed alike");
    compare_model_next_trace(&view);
    tap_ok(view.trace == TRACE_VALIDATION, "next: what the runs have");
    compare_model_next_trace(&view);
    view.window.cursor_on = false;
    tap_ok(view.trace == TRACE_TOP1 && value_of(0) > 80, "the accuracy");
    size_t others = 0;
    for (; view.trace != TRACE_SMOOTHED && others < 20; others++)
        compare_model_next_trace(&view);
    tap_ok(others == 6, "and round, without raw losses and a discriminator");
    add(&view, 2);
    tap_ok(compare_model_has_values(&view, TRACE_DISCRIMINATOR), "which a fourth run has");
}

/* Returns whether entry `index` of the legend is drawn. */
static bool is_visible(const struct compare_model *model, size_t index)
{
    return model->curves.entries[index].visible;
}

/* Compares two seeds of one learning rate with a run of another. */
static void test_groups(void)
{
    static const char *const made[] = {"20261123-103000-lenet-0032", "20261123-103001-lenet-0032",
                                       "20261123-110500-lenet-0032"};
    struct compare_model model = {.count = 0};
    struct curve_view wanted = {.x = X_ITERATION, .width = 100};
    struct run_list session = {0};
    struct error error;
    char label[128];
    size_t runs, first = kept.count;
    for (size_t i = 0; i < 3; i++)
        make_saved_run(made[i], 0, 0);
    list_saved_runs(&session);
    for (size_t i = 0; i < 3 && first + i < kept.count; i++)
        add(&model, first + i);
    tap_ok(compare_model_build(&model, &error) && model.curves.entry_count == 2 &&
               model.curves.entries[0].runs == 2 && model.curves.entries[1].runs == 1,
           "runs that differ in their seed only are one entry");
    const struct compare_entry *group = &model.curves.entries[0];
    tap_ok(strcmp(compare_curves_label(&model, group, 99, label, sizeof label), "lr 0.03") == 0,
           "its label leaves out the seed: %s", label);
    tap_ok(strcmp(compare_curves_fitted_label(&model, group, 99), "lr 0.03") == 0,
           "and so does the one that is stored");
    compare_curves_update(&model, &wanted, 50, &error);
    plot_window_set_cursor(&model.window, 500);
    const double mean = compare_curves_value(&model, group, &runs);
    tap_ok(runs == 2 && isfinite(mean), "its value is the mean of both");
    compare_curves_toggle_groups(&model);
    tap_ok(
        model.curves.entry_count == 3 &&
            strcmp(compare_curves_label(&model, &model.curves.entries[1], 99, label, sizeof label),
                   "lr 0.03, seed 2") == 0,
        "ungrouped they are entries of their own");
    const double one = compare_curves_value(&model, &model.curves.entries[0], &runs);
    const double other = compare_curves_value(&model, &model.curves.entries[1], &runs);
    tap_ok(fabs(mean - (one + other) / 2) < 1e-9, "whose mean that was: %g of %g and %g", mean, one,
           other);
    compare_curves_select(&model, 1);
    tap_ok(compare_curves_hide(&model) && is_visible(&model, 0) && !is_visible(&model, 1),
           "the selected run is hidden");
    tap_ok(compare_curves_solo(&model) && !is_visible(&model, 0) && is_visible(&model, 1),
           "shown alone it is visible again");
    compare_curves_select(&model, 1);
    tap_ok(compare_curves_pin(&model) && model.curves.entries[0].pinned && is_visible(&model, 0) &&
               compare_curves_selected(&model) == &model.curves.entries[0],
           "a pinned run is the first entry, stays selected, and is visible beside one alone");
    compare_curves_select(&model, 99);
    tap_ok(compare_curves_solo(&model) && is_visible(&model, 0) && is_visible(&model, 1) &&
               is_visible(&model, 2),
           "and then all are");
    tap_ok(compare_model_build(&model, &error) && model.curves.entries[0].pinned,
           "a new table keeps the choices");
    compare_model_free(&model);
}

static void test_many(void)
{
    enum { MANY = 300 };
    struct compare_model full = {0};
    struct compare_files none = {0};
    struct error error;
    static char places[MANY]; /* only the addresses of runs matter here */
    for (size_t i = 0; i < MANY; i++)
        compare_model_add(&full, (const struct run *)(const void *)&places[i], &none, &error);
    tap_ok(full.count == MANY && full.runs[MANY - 1] == (const void *)&places[MANY - 1],
           "the number of runs has no limit");
    compare_model_free(&full);
    tap_ok(full.count == 0 && !full.runs, "freed, the comparison is empty");
}

TEST_CASE(compare_view_test)
{
    if (!make_home())
        return EXIT_FAILURE;
    test_saved_runs();
    test_runs();
    test_table();
    test_curves();
    test_many();
    test_groups();
    compare_model_free(&view);
    run_list_free(&kept);
    remove_home();
    return tap_done();
}

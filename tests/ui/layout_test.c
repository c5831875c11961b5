/* Tests that the rectangles of every screen lie within the terminal and do not overlap at any size,
 * and that the promised parts fit at the promised sizes. */
#include "tap.h"
#include "ui/terminal/layout.h"
#include "ui/widgets/listing.h"

#include <string.h>

static bool inside(struct rect rect, int rows, int columns)
{
    return rect_is_empty(rect) ||
           (rect.row >= 0 && rect.column >= 0 && rect.row + rect.rows <= rows &&
            rect.column + rect.columns <= columns);
}

static bool apart(struct rect a, struct rect b)
{
    return rect_is_empty(a) || rect_is_empty(b) || a.row + a.rows <= b.row ||
           b.row + b.rows <= a.row || a.column + a.columns <= b.column ||
           b.column + b.columns <= a.column;
}

static bool good(const struct rect *rects, size_t count, int rows, int columns)
{
    for (size_t i = 0; i < count; i++) {
        if (!inside(rects[i], rows, columns))
            return false;
        for (size_t j = 0; j < i; j++)
            if (!apart(rects[i], rects[j]))
                return false;
    }
    return true;
}

/* Tests plots above each other, with and without the line for the cursor. */
static bool panels_are_good(struct rect view, int rows, int columns)
{
    for (int wanted = 1; wanted <= LAYOUT_PANELS; wanted++)
        for (int lines = 0; lines <= 4; lines++) {
            struct panels_layout all = layout_panels(view, wanted, lines % 2, lines);
            struct rect rects[2 + 3 * LAYOUT_PANELS] = {all.readout, all.axis};
            size_t count = 2;
            for (int i = 0; i < all.count; i++) {
                rects[count++] = all.panels[i].legend;
                rects[count++] = all.panels[i].labels;
                rects[count++] = all.panels[i].plot;
            }
            if (all.count < 1 || all.count > wanted || !good(rects, count, rows, columns))
                return false;
        }
    return true;
}

static bool screen_is_good(int rows, int columns)
{
    struct frame_layout frame = layout_frame(rows, columns);
    struct form_layout form = layout_form(frame.body);
    struct run_layout run = layout_run(frame.body);
    struct plot_layout plot = layout_plot(run.view, true);
    struct rect of_form[] = {frame.title, frame.message, frame.hints, form.fields,
                             form.help,   form.panel,    form.summary};
    struct rect of_run[] = {frame.title, frame.message, frame.hints, run.tabs,
                            run.view,    run.rate,      run.facts,   run.progress};
    struct rect of_plot[] = {plot.legend, plot.labels, plot.plot, plot.axis};
    struct rect dialog = layout_dialog(rows, columns, 12, 64);
    return good(of_form, 7, rows, columns) && good(of_run, 8, rows, columns) &&
           good(of_plot, 4, rows, columns) && inside(dialog, rows, columns) &&
           panels_are_good(run.view, rows, columns);
}

static void test_promises(void)
{
    struct frame_layout frame = layout_frame(24, 80);
    struct run_layout run = layout_run(frame.body);
    struct form_layout form = layout_form(frame.body);
    tap_ok(run.density == DENSITY_NORMAL && run.view.rows >= 12, "80x24: a plot and all figures");
    struct panels_layout panels = layout_panels(run.view, 4, true, 1);
    tap_ok(panels.count == 4 && panels.panels[3].plot.rows >= 2 &&
               panels.panels[3].legend.rows == 1 && panels.readout.rows == 1,
           "80x24: four plots with their legends, and a line for the cursor");
    tap_ok(form.panel.columns >= 30 && form.fields.rows >= 16,
           "80x24: the whole form with its panel");
    frame = layout_frame(12, 40);
    run = layout_run(frame.body);
    tap_ok(run.view.rows >= 3 && run.facts.rows == 4, "40x12: a small plot and the figures");
    frame = layout_frame(43, 132);
    run = layout_run(frame.body);
    tap_ok(run.density == DENSITY_PANEL && run.rate.rows >= 4,
           "132x43: a panel and the learning rate");
    frame = layout_frame(5, 20);
    run = layout_run(frame.body);
    tap_ok(run.facts.rows >= 2, "20x5: figures alone");
    frame = layout_frame(1, 1);
    tap_ok(!rect_is_empty(frame.body), "1x1: something is still drawn");
}

static void test_table(void)
{
    static const struct listing_column columns[] = {
        {"a", 4, 0, false, false}, {"b", 10, 1, false, true}, {"c", 6, 2, true, false}};
    int starts[3], widths[3];
    listing_fit(columns, 3, 40, starts, widths);
    tap_ok(widths[0] == 4 && widths[2] == 6 && widths[1] == 28,
           "a growing column takes the columns left over");
    tap_ok(starts[1] == 5 && starts[2] == 34, "one space separates two columns");
    listing_fit(columns, 3, 16, starts, widths);
    tap_ok(widths[2] == 0 && widths[1] == 11, "the least important column is left out first");
    listing_fit(columns, 3, 3, starts, widths);
    tap_ok(widths[0] == 4 && widths[1] == 0, "a column of priority 0 is always shown");
    tap_ok(listing_scroll(0, 9, 5, 20) == 5 && listing_scroll(8, 3, 5, 20) == 3 &&
               listing_scroll(18, 19, 5, 20) == 15 && listing_scroll(3, 1, 5, 4) == 0,
           "the selected row stays visible");
}

TEST_CASE(layout_test)
{
    bool all = true;
    for (int rows = 1; rows <= 130 && all; rows++)
        for (int columns = 1; columns <= 420 && all; columns++) {
            all = screen_is_good(rows, columns);
            if (!all)
                tap_note("%dx%d is wrong", columns, rows);
        }
    tap_ok(all, "no size from 1x1 to 420x130 has overlapping or overflowing parts");
    test_promises();
    test_table();
    return tap_done();
}

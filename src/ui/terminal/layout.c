/* Each layout starts with the whole area and cuts parts off its edges with take_top, take_bottom,
 * take_left and take_right. They never cut off more than there is, so rectangles cannot overlap or
 * leave the area. */
#include "ui/terminal/layout.h"

static int clamp(int value, int low, int high)
{
    return value < low ? low : value > high ? high : value;
}

bool rect_is_empty(struct rect rect)
{
    return rect.rows <= 0 || rect.columns <= 0;
}

/* Cuts rows off the top of a rectangle, at most as many as it has. Returns the part cut off. */
static struct rect take_top(struct rect *rect, int rows)
{
    rows = clamp(rows, 0, rect->rows);
    struct rect taken = {rect->row, rect->column, rows, rect->columns};
    rect->row += rows;
    rect->rows -= rows;
    return taken;
}

static struct rect take_bottom(struct rect *rect, int rows)
{
    rows = clamp(rows, 0, rect->rows);
    rect->rows -= rows;
    return (struct rect){rect->row + rect->rows, rect->column, rows, rect->columns};
}

static struct rect take_left(struct rect *rect, int columns)
{
    columns = clamp(columns, 0, rect->columns);
    struct rect taken = {rect->row, rect->column, rect->rows, columns};
    rect->column += columns;
    rect->columns -= columns;
    return taken;
}

static struct rect take_right(struct rect *rect, int columns)
{
    columns = clamp(columns, 0, rect->columns);
    rect->columns -= columns;
    return (struct rect){rect->row, rect->column + rect->columns, rect->rows, columns};
}

struct frame_layout layout_frame(int rows, int columns)
{
    struct frame_layout frame;
    struct rect all = {0, 0, rows > 0 ? rows : 0, columns > 0 ? columns : 0};
    frame.title = take_top(&all, rows >= 3);
    frame.hints = take_bottom(&all, rows >= 5);
    frame.message = take_bottom(&all, rows >= 14);
    if (rect_is_empty(frame.message)) /* a message covers the hints for a while */
        frame.message = (struct rect){frame.hints.row, 0, 0, columns};
    frame.body = all;
    return frame;
}

struct form_layout layout_form(struct rect body)
{
    struct form_layout form = {0};
    take_top(&body, body.rows >= 22);
    bool panel = body.columns >= 72 && body.rows >= 10;
    const int narrow = body.columns < 60; /* one more line of help */
    form.help = take_bottom(&body, body.rows >= 18  ? 3 + narrow
                                   : body.rows >= 9 ? 2
                                                    : body.rows >= 5);
    if (panel) {
        form.panel = take_right(&body, clamp(body.columns * 2 / 5, 30, 46));
        take_right(&body, 2);
    } else
        form.summary = take_bottom(&body, body.rows >= 4);
    form.fields = panel ? take_left(&body, 70) : body;
    if (panel && body.columns >= 26) {
        take_left(&body, 2);
        form.pictures = body;
    }
    form.label_columns = form.fields.columns >= 36 ? 18 : clamp(form.fields.columns / 2, 0, 14);
    return form;
}

static struct layout_part *part_of_rank(struct layout_part *parts, size_t count, int rank)
{
    for (size_t i = 0; i < count; i++)
        if (parts[i].rank == rank)
            return &parts[i];
    return NULL;
}

void layout_share(int rows, struct layout_part *parts, size_t count)
{
    for (int rank = 0; rank < (int)count; rank++) {
        struct layout_part *part = part_of_rank(parts, count, rank);
        const int needed = part->least + part->gap;
        part->given = part->most > 0 && needed <= rows ? part->least : 0;
        rows -= part->given > 0 ? needed : 0;
    }
    for (int rank = 0; rank < (int)count; rank++) {
        struct layout_part *part = part_of_rank(parts, count, rank);
        const int more = part->given > 0 ? clamp(part->most - part->given, 0, rows) : 0;
        part->given += more;
        rows -= more;
    }
}

struct run_layout layout_run(struct rect body)
{
    struct run_layout run = {0};
    if (body.columns >= 104 && body.rows >= 18) {
        run.density = DENSITY_PANEL;
        run.tabs = take_top(&body, 1);
        take_top(&body, body.rows >= 24);
        run.facts = take_right(&body, 36);
        take_right(&body, 2);
        run.progress = take_bottom(&body, 1);
        take_bottom(&body, body.rows >= 24);
    } else if (body.columns >= 72 && body.rows >= 12) {
        run.density = DENSITY_NORMAL;
        run.tabs = take_top(&body, 1);
        run.progress = take_bottom(&body, 1);
        run.facts = take_bottom(&body, 4);
    } else if (body.rows >= 7) {
        run.density = DENSITY_SMALL;
        run.tabs = take_top(&body, body.rows >= 12);
        run.progress = take_bottom(&body, 1);
        run.facts = take_bottom(&body, 4);
    } else {
        run.density = DENSITY_TINY;
        run.progress = take_bottom(&body, body.rows >= 4);
        run.facts = body;
        return run;
    }
    if (body.rows >= 22) {
        run.rate = take_bottom(&body, clamp(body.rows / 5, 4, 7));
        take_bottom(&body, 1);
    }
    run.view = body;
    return run;
}

/* Splits the rest of a view into labels and plot, and places `axis` below the plot. */
static void split_plot(struct rect view, struct plot_layout *plot, struct rect *axis)
{
    int labels = view.columns >= 60 ? 8 : view.columns >= 30 ? 6 : 0;
    plot->labels = take_left(&view, labels);
    take_right(&view, view.columns >= 40);
    plot->plot = view;
    axis->column = view.column;
    axis->columns = view.columns;
}

struct plot_layout layout_plot(struct rect view, bool legend)
{
    struct plot_layout plot = {0};
    plot.legend = take_top(&view, legend && view.rows >= 7);
    plot.axis = take_bottom(&view, view.rows >= 8 ? 2 : view.rows >= 4);
    split_plot(view, &plot, &plot.axis);
    return plot;
}

struct panels_layout layout_panels(struct rect view, int count, bool readout, int legend_lines)
{
    enum { LEAST = 3, MOST = 8 }; /* rows of each plot after the first, with its legend */
    struct panels_layout all = {0};
    all.readout = take_top(&view, readout && view.rows >= 4);
    bool legend = view.rows >= 7;
    all.axis = take_bottom(&view, view.rows >= 9 ? 2 : view.rows >= 4);
    all.count = clamp(count, 1, legend ? clamp(view.rows / LEAST, 1, LAYOUT_PANELS) : 1);
    int others = clamp(view.rows / (all.count + 1), LEAST, MOST);
    for (int i = 0; i < all.count; i++) {
        int rows = i > 0 ? others : view.rows - (all.count - 1) * others;
        struct rect panel = take_top(&view, rows);
        int lines = i == 0 ? clamp(legend_lines, 1, clamp(panel.rows / 5, 1, 3)) : 1;
        all.panels[i].legend = take_top(&panel, legend ? lines : 0);
        split_plot(panel, &all.panels[i], &all.axis);
    }
    return all;
}

struct rect layout_dialog(int rows, int columns, int wished_rows, int wished_columns)
{
    struct rect box = {0, 0, clamp(wished_rows, 0, rows), clamp(wished_columns, 0, columns)};
    box.row = (rows - box.rows) / 2;
    box.column = (columns - box.columns) / 2;
    return box;
}

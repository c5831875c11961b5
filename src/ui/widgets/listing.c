/* The view sorts a list of row numbers and draws the part that fits. A name that is too long loses
 * its middle, and different ones stay different (below). */
#include "ui/widgets/listing.h"

#include "base/language.h"
#include "base/memory.h"
#include "ui/terminal/columns.h"
#include "ui/terminal/keys.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* --- columns and scrolling --- */

static int total_width(const int *widths, size_t count)
{
    int total = 0;
    for (size_t i = 0; i < count; i++)
        total += widths[i] ? widths[i] + 1 : 0;
    return total - 1;
}

void listing_fit(const struct listing_column *table, size_t count, int columns, int *starts,
                 int *widths)
{
    for (size_t i = 0; i < count; i++)
        widths[i] = table[i].width;
    while (total_width(widths, count) > columns) {
        size_t removed = count;
        for (size_t i = 0; i < count; i++)
            if (widths[i] && table[i].priority > 0 &&
                (removed == count || table[i].priority >= table[removed].priority))
                removed = i;
        if (removed == count)
            break;
        widths[removed] = 0;
    }
    int spare = columns - total_width(widths, count), growing = 0, at = 0;
    for (size_t i = 0; i < count; i++)
        growing += widths[i] && table[i].grows;
    for (size_t i = 0; i < count; i++) {
        if (widths[i] && table[i].grows && spare > 0)
            widths[i] += spare / growing;
        starts[i] = at;
        at += widths[i] ? widths[i] + 1 : 0;
    }
}

size_t listing_scroll(size_t top, size_t selected, size_t rows, size_t count)
{
    if (rows == 0 || count <= rows)
        return 0;
    if (selected < top)
        top = selected;
    if (selected >= top + rows)
        top = selected - rows + 1;
    return top + rows > count ? count - rows : top;
}

enum move move_of_key(int key)
{
    static const int keys[MOVES] = {UI_UP,   UI_DOWN, UI_PAGE_UP, UI_PAGE_DOWN,
                                    UI_HOME, UI_END,  UI_LEFT,    UI_RIGHT};
    enum move move = 0;
    while (move < MOVES && keys[move] != key)
        move++;
    return move;
}

long move_steps(int move, long page, long all)
{
    const long steps[MOVES] = {-1, 1, -page, page, -all, all, 0, 0};
    return steps[move];
}

size_t list_step(size_t at, long steps, size_t count)
{
    const long to = (long)at + steps, last = (long)count - 1;
    return (size_t)(to < 0 || last < 0 ? 0 : to > last ? last : to);
}

size_t list_move(size_t at, int move, size_t page, size_t count)
{
    return list_step(at, move_steps(move, (long)page, (long)count), count);
}

/* --- rows and cells --- */

static size_t rows_of(const struct listing *listing)
{
    return listing->texts->failed ? 0 : listing->texts->count / listing->texts->columns;
}

static const char *cell_of(const struct listing *listing, size_t row, size_t column)
{
    return listing->texts->cells[row * listing->texts->columns + column];
}

/* --- keys and order --- */

static bool is_sortable(const struct listing *listing, size_t column)
{
    return listing->sortable >> column & 1;
}

static void turn_sort(struct listing_view *view, const struct listing *listing)
{
    const size_t count = listing->texts->columns, step = view->turn < 0 ? count - 1 : 1;
    if (view->sort >= count || !is_sortable(listing, view->sort))
        view->sort = 0;
    if (view->turn != 0)
        do
            view->sort = (view->sort + step) % count;
        while (!is_sortable(listing, view->sort) && view->sort != 0);
    view->turn = 0;
}

static int greatest_first(const void *a, const void *b)
{
    const struct listing_row *x = a, *y = b;
    if (x->key != y->key && !(isnan(x->key) && isnan(y->key)))
        return isnan(x->key) || x->key < y->key ? 1 : -1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* Sorts view->order. Returns false if there is no row or no memory. */
static bool sort_rows(struct listing_view *view, const struct listing *listing)
{
    const size_t rows = rows_of(listing), columns = listing->texts->columns;
    if (rows == 0 ||
        !memory_grow(&view->order, &view->capacity, rows, sizeof *view->order, "a table", NULL))
        return false;
    for (size_t i = 0; i < rows; i++)
        view->order[i] = (struct listing_row){
            view->sort == 0 ? 0 : listing->texts->keys[i * columns + view->sort], i};
    qsort(view->order, rows, sizeof *view->order, greatest_first);
    return true;
}

void listing_move(struct listing_view *view, int how)
{
    const size_t page = view->page > 1 ? (size_t)view->page - 1 : 1;
    if (how == MOVE_LEFT || how == MOVE_RIGHT) {
        view->turn += how == MOVE_LEFT ? -1 : 1;
        view->selected = 0;
    } else /* drawing limits it to the last row */
        view->selected = list_move(view->selected, how, page, SIZE_MAX / 4);
}

void listing_free(struct listing_view *view)
{
    free(view->order);
    *view = (struct listing_view){0};
}

/* --- drawing --- */

/* The state of drawing one frame. */
struct frame {
    const struct listing *listing;
    struct canvas *canvas;
    int starts[LISTING_MAX_COLUMNS], widths[LISTING_MAX_COLUMNS];
    struct short_names names[LISTING_MAX_COLUMNS]; /* of columns of text that are too narrow */
};

static void draw_cell(const struct frame *frame, struct rect line, size_t column, enum role role,
                      const char *text)
{
    const int indent = !frame->listing->plain;
    const struct rect cell = {line.row, line.column + indent + frame->starts[column], 1,
                              frame->widths[column]};
    if (frame->widths[column] == 0)
        return;
    if (frame->listing->columns[column].right)
        draw_right(frame->canvas, cell, 0, role, text);
    else
        draw_fitted_name(frame->canvas, cell, 0, 0, role, text);
}

/* Draws the column headings and marks the one that sorts. */
static void draw_headings(const struct frame *frame, const struct listing_view *view,
                          struct rect line)
{
    char text[64];
    for (size_t i = 0; i < frame->listing->texts->columns; i++) {
        const char *title = frame->listing->columns[i].title;
        const bool sorts = frame->listing->sortable && i == view->sort;
        snprintf(text, sizeof text, "%s%s", title[0] ? gettext(title) : "",
                 sorts ? frame->canvas->glyphs->sorted : "");
        draw_cell(frame, line, i, sorts ? ROLE_STRONG : ROLE_HEADING, text);
    }
}

struct column_of_listing {
    const struct listing *listing;
    size_t column;
};

static void write_cell(const void *context, size_t row, char *text, size_t size)
{
    const struct column_of_listing *column = context;
    snprintf(text, size, "%s", cell_of(column->listing, row, column->column));
}

/* Returns whether a cell of the column is wider than the column. */
static bool is_too_narrow(const struct frame *frame, size_t column)
{
    for (size_t row = 0; row < rows_of(frame->listing); row++)
        if ((int)columns_of(cell_of(frame->listing, row, column)) > frame->widths[column])
            return true;
    return false;
}

static void shorten_names(struct frame *frame)
{
    for (size_t i = 0; i < frame->listing->texts->columns; i++) {
        const struct column_of_listing column = {frame->listing, i};
        if (frame->widths[i] > 0 && !frame->listing->columns[i].right && is_too_narrow(frame, i))
            short_names_make(&frame->names[i], rows_of(frame->listing), frame->widths[i],
                             frame->canvas->glyphs->cut, write_cell, &column);
    }
}

static void draw_row(const struct frame *frame, size_t row, bool selected, struct rect line)
{
    const enum role role = selected ? ROLE_FOCUS : ROLE_TEXT;
    if (selected) {
        draw_fill(frame->canvas, line, ROLE_FOCUS);
        if (!frame->listing->plain)
            draw_text(frame->canvas, line, 0, 0, ROLE_FOCUS, ">");
        draw_cursor(frame->canvas, line, 0, 0);
    }
    for (size_t i = 0; i < frame->listing->texts->columns; i++)
        draw_cell(frame, line, i, role,
                  short_names_get(&frame->names[i], row, cell_of(frame->listing, row, i)));
}

static void draw_rows(struct frame *frame, struct listing_view *view, struct rect area)
{
    const size_t rows = (size_t)area.rows - 1, count = rows_of(frame->listing);
    const bool still = frame->listing->still;
    listing_fit(frame->listing->columns, frame->listing->texts->columns,
                area.columns - (frame->listing->plain ? 0 : 2), frame->starts, frame->widths);
    view->page = (int)rows;
    if (!still)
        view->top = listing_scroll(view->top, view->selected, rows, count);
    draw_headings(frame, view, (struct rect){area.row, area.column, 1, area.columns});
    shorten_names(frame);
    for (size_t i = 0; i < rows && view->top + i < count; i++) {
        const struct rect line = {area.row + 1 + (int)i, area.column, 1, area.columns};
        draw_row(frame, view->order[view->top + i].row, !still && view->top + i == view->selected,
                 line);
        if (!still)
            targets_add_row(&frame->canvas->targets, line, view->top + i, view->selected);
    }
    for (size_t i = 0; i < frame->listing->texts->columns; i++)
        short_names_free(&frame->names[i]);
}

size_t listing_draw(struct listing_view *view, const struct listing *listing, struct canvas *canvas,
                    struct rect area)
{
    struct frame frame = {.listing = listing, .canvas = canvas};
    turn_sort(view, listing);
    if (!sort_rows(view, listing))
        return 0;
    if (view->selected >= rows_of(listing))
        view->selected = rows_of(listing) - 1;
    if (area.rows > 1)
        draw_rows(&frame, view, area);
    return view->order[view->selected].row;
}

/* --- short names --- */

void short_names_make(struct short_names *list, size_t count, int columns, const char *mark,
                      short_names_writer *writer, const void *context)
{
    char *whole = malloc(count * SHORT_NAME_SIZE);
    const char **names = malloc(count * sizeof *names);
    *list = (struct short_names){malloc(count * SHORT_NAME_SIZE), count};
    if (!whole || !names || !list->texts) {
        short_names_free(list);
    } else {
        for (size_t i = 0; i < count; i++) {
            writer(context, i, whole + i * SHORT_NAME_SIZE, SHORT_NAME_SIZE);
            names[i] = whole + i * SHORT_NAME_SIZE;
        }
        columns_fit_names(names, count, columns > 0 ? (size_t)columns : 0, mark, list->texts,
                          SHORT_NAME_SIZE);
    }
    free(whole);
    free(names);
}

const char *short_names_get(const struct short_names *list, size_t index, const char *name)
{
    return index < list->count ? list->texts + index * SHORT_NAME_SIZE : name;
}

void short_names_free(struct short_names *list)
{
    free(list->texts);
    *list = (struct short_names){0};
}

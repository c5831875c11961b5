/* Ticks come from axis_ticks, as many as the space allows. A number is left out if it would be cut
 * off or would touch the previous one or the name of the axis. */
#include "ui/plot/plot_axes.h"

#include "base/language.h"
#include "ui/terminal/columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

char *plot_axes_title(const char *name, bool log, bool all_values, char *text, size_t size)
{
    static const char *const formats[2][2] = {{"%s", N_("%s, all values")},
                                              {N_("%s, log"), N_("%s, log, all values")}};
    snprintf(text, size, gettext(formats[log][all_values]), name);
    return text;
}

/* Draws a number flush right, with a space before the axis if it fits; draws nothing if the number
 * does not fit. */
static void draw_number(struct canvas *canvas, struct rect numbers, int row, const char *text)
{
    int spare = numbers.columns - (int)columns_of(text);
    numbers.columns -= spare > 0;
    if (spare >= 0)
        draw_right(canvas, numbers, row, ROLE_FAINT, text);
}

void plot_axes_draw_y(struct canvas *canvas, struct rect labels, const struct axis *y)
{
    double ticks[AXIS_MAX_TICKS];
    char text[32];
    struct rect numbers = {labels.row, labels.column, labels.rows, labels.columns - 1};
    int limit = labels.rows / 2 > 2 ? labels.rows / 2 : 2;
    size_t count = axis_ticks(y, (size_t)limit, ticks);
    if (rect_is_empty(labels))
        return;
    for (int row = 0; row < labels.rows; row++)
        draw_text(canvas, labels, row, labels.columns - 1, ROLE_RAW, canvas->glyphs->vertical);
    for (size_t i = 0; i < count; i++) {
        int row = (int)lround((1 - axis_position(y, ticks[i])) * (labels.rows - 1));
        draw_number(canvas, numbers, row, axis_label(ticks[i], text, sizeof text));
        draw_text(canvas, labels, row, labels.columns - 1, ROLE_RAW, canvas->glyphs->tick_left);
    }
}

static void draw_x_rule(struct canvas *canvas, struct rect axis, int corner)
{
    struct rect whole = {axis.row, axis.column - corner, 1, axis.columns + corner};
    int column = corner ? draw_text(canvas, whole, 0, 0, ROLE_RAW, canvas->glyphs->corner) : 0;
    while (column < whole.columns)
        column = draw_text(canvas, whole, 0, column, ROLE_RAW, canvas->glyphs->horizontal);
}

static void name_axis(const struct axis *axis, enum curve_x x, char *name, size_t size)
{
    char quantity[40];
    snprintf(quantity, sizeof quantity, x == X_TIME ? _("%s (s)") : "%s", curve_x_name(x));
    snprintf(name, size, axis->log ? _("%s, log") : "%s", quantity);
}

void plot_axes_draw_x(struct canvas *canvas, struct rect area, const struct axis *axis,
                      enum curve_x x, bool labelled_left)
{
    char name[64];
    name_axis(axis, x, name, sizeof name);
    plot_axes_draw_named_x(canvas, area, axis, name, labelled_left);
}

void plot_axes_draw_named_x(struct canvas *canvas, struct rect area, const struct axis *axis,
                            const char *name, bool labelled_left)
{
    double ticks[AXIS_MAX_TICKS];
    char text[32];
    if (rect_is_empty(area))
        return;
    size_t count = axis_ticks(axis, (size_t)(area.columns / 10 > 2 ? area.columns / 10 : 2), ticks);
    bool rule = area.rows >= 2;
    if (rule)
        draw_x_rule(canvas, area, labelled_left);
    int end = area.columns - (int)columns_of(name) - 1, free_from = 0;
    draw_right(canvas, area, area.rows - 1, ROLE_FAINT, name);
    for (size_t i = 0; i < count; i++) {
        int column = (int)lround(axis_position(axis, ticks[i]) * (area.columns - 1));
        int width = (int)strlen(axis_label(ticks[i], text, sizeof text));
        int start = column - width / 2 < 0 ? 0 : column - width / 2;
        if (rule)
            draw_text(canvas, area, 0, column, ROLE_RAW, canvas->glyphs->tick_down);
        if (start < free_from || start + width > end)
            continue;
        draw_text(canvas, area, area.rows - 1, start, ROLE_FAINT, text);
        free_from = start + width + 1;
    }
}

void plot_draw(struct canvas *canvas, struct rect area, const struct plot *plot,
               const enum role *roles, const enum plot_style *styles)
{
    char text[5];
    for (size_t row = 0; row < plot->rows; row++)
        for (size_t column = 0; column < plot->columns; column++) {
            uint16_t series = plot->cells[row * plot->columns + column].series;
            plot_cell_text(plot, row, column, styles[series], text);
            draw_text(canvas, area, (int)row, (int)column, roles[series], text);
        }
}

/* Items follow each other in a line while they fit, then in the next line. Counting lines and
 * drawing compute the places of the items with the same function. */
#include "ui/widgets/legend.h"

#include "ui/terminal/columns.h"

#include <stdarg.h>
#include <stdio.h>

enum { GAP = 3 }; /* columns between two items */

void legend_add(struct legend *legend, enum role role, const char *sample, const char *format, ...)
{
    va_list arguments;
    if (legend->count == LEGEND_ITEMS)
        return;
    struct legend_item *item = &legend->items[legend->count++];
    item->role = role;
    snprintf(item->sample, sizeof item->sample, "%s", sample);
    va_start(arguments, format);
    vsnprintf(item->text, sizeof item->text, format, arguments);
    va_end(arguments);
}

static int width_of(const struct legend_item *item)
{
    int sample = (int)columns_of(item->sample);
    return sample + (sample > 0) + (int)columns_of(item->text);
}

struct spot {
    int line, column;
};

/* Returns where an item stands if the free columns begin at `from`. */
static struct spot place(const struct legend_item *item, struct spot from, int columns)
{
    bool fits = from.column == 0 || from.column + width_of(item) <= columns;
    return fits ? from : (struct spot){from.line + 1, 0};
}

static struct spot after_title(const struct legend *legend)
{
    int title = (int)columns_of(legend->title);
    return (struct spot){0, title > 0 ? title + GAP : 0};
}

int legend_lines(const struct legend *legend, size_t count, int columns)
{
    struct spot spot = after_title(legend);
    for (size_t i = 0; i < count; i++) {
        spot = place(&legend->items[i], spot, columns);
        spot.column += width_of(&legend->items[i]) + GAP;
    }
    return spot.line + 1;
}

static void draw_left_out(struct canvas *canvas, struct rect area, size_t count)
{
    char text[16];
    snprintf(text, sizeof text, " +%zu", count);
    draw_right(canvas, area, area.rows - 1, ROLE_FAINT, text);
}

void legend_draw(const struct legend *legend, struct canvas *canvas, struct rect area)
{
    struct spot spot = after_title(legend);
    if (rect_is_empty(area))
        return;
    draw_text(canvas, area, 0, 0, ROLE_STRONG, legend->title);
    for (size_t i = 0; i < legend->count; i++) {
        const struct legend_item *item = &legend->items[i];
        spot = place(item, spot, area.columns);
        if (spot.line >= area.rows) {
            draw_left_out(canvas, area, legend->count - i);
            return;
        }
        int column = draw_text(canvas, area, spot.line, spot.column, item->role, item->sample);
        column += item->sample[0] != '\0';
        column = draw_fitted_value(canvas, area, spot.line, column, ROLE_FAINT, item->text);
        spot.column = column + GAP;
    }
}

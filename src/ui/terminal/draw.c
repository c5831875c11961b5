/* Text passes columns_fit, which removes control characters, before it reaches ncurses. Pictures
 * are drawn in colour pairs of half blocks, or as characters of increasing brightness. */
#include "ui/terminal/draw.h"

#include "base/language.h"
#include "base/memory.h"
#include "ui/terminal/columns.h"
#include "ui/terminal/keys.h"

#include <curses.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wctype.h>

enum { LINE_BYTES = 2048 }; /* enough for a line of the widest terminal */

static void write_at(struct canvas *canvas, int row, int column, enum role role, const char *text)
{
    if (row < 0 || column < 0 || row >= canvas->rows || column >= canvas->columns || !text[0])
        return;
    attrset((attr_t)canvas->theme->attributes[role]);
    mvaddstr(row, column, text);
}

int draw_text(struct canvas *canvas, struct rect area, int row, int column, enum role role,
              const char *text)
{
    char shown[LINE_BYTES];
    if (row < 0 || row >= area.rows || column < 0 || column >= area.columns)
        return column;
    int used = (int)columns_fit_text(text, (size_t)(area.columns - column), canvas->glyphs->cut,
                                     shown, sizeof shown);
    write_at(canvas, area.row + row, area.column + column, role, shown);
    return column + used;
}

int draw_fitted_name(struct canvas *canvas, struct rect area, int row, int column, enum role role,
                     const char *name)
{
    char shown[LINE_BYTES];
    const int room = area.columns - column;
    columns_fit_middle(name, room > 0 ? (size_t)room : 0, canvas->glyphs->cut, shown, sizeof shown);
    return draw_text(canvas, area, row, column, role, shown);
}

int draw_fitted_value(struct canvas *canvas, struct rect area, int row, int column, enum role role,
                      const char *value)
{
    char shown[LINE_BYTES];
    const int room = area.columns - column;
    columns_fit_value(value, room > 0 ? (size_t)room : 0, canvas->glyphs->cut, shown, sizeof shown);
    return draw_text(canvas, area, row, column, role, shown);
}

int draw_format(struct canvas *canvas, struct rect area, int row, int column, enum role role,
                const char *format, ...)
{
    char text[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return draw_text(canvas, area, row, column, role, text);
}

void draw_right(struct canvas *canvas, struct rect area, int row, enum role role, const char *text)
{
    int column = area.columns - (int)columns_of(text);
    draw_fitted_value(canvas, area, row, column > 0 ? column : 0, role, text);
}

int draw_sentence(struct canvas *canvas, struct rect area, int row, int column, enum role role,
                  const char *text)
{
    char line[LINE_BYTES];
    const int room = area.columns - column;
    if ((int)columns_of(text) <= room || room < 2)
        return draw_text(canvas, area, row, column, role, text);
    columns_wrap(text, (size_t)room - 1, line, sizeof line);
    column = draw_text(canvas, area, row, column, role, line);
    return draw_text(canvas, area, row, column, role, canvas->glyphs->cut);
}

void draw_scroll_marks(struct canvas *canvas, struct rect area, bool above, bool below)
{
    if (above)
        draw_right(canvas, area, 0, ROLE_FAINT, canvas->glyphs->up);
    if (below)
        draw_right(canvas, area, area.rows - 1, ROLE_FAINT, canvas->glyphs->down);
}

int draw_wrapped(struct canvas *canvas, struct rect area, int row, enum role role, const char *text)
{
    char line[LINE_BYTES];
    while (text && row < area.rows && area.columns > 0) {
        const char *rest = columns_wrap(text, (size_t)area.columns, line, sizeof line);
        if (rest && row + 1 == area.rows && area.columns > 1)
            draw_sentence(canvas, area, row++, 0, role, text);
        else
            draw_text(canvas, area, row++, 0, role, line);
        text = rest;
    }
    return row;
}

void draw_fill(struct canvas *canvas, struct rect area, enum role role)
{
    attrset((attr_t)canvas->theme->attributes[role]);
    for (int row = 0; row < area.rows; row++)
        mvhline(area.row + row, area.column, ' ', area.columns);
}

static void draw_rule(struct canvas *canvas, struct rect area, int row, const char *left,
                      const char *right)
{
    int column = draw_text(canvas, area, row, 0, ROLE_FAINT, left);
    while (column < area.columns - 1)
        column = draw_text(canvas, area, row, column, ROLE_FAINT, canvas->glyphs->horizontal);
    draw_text(canvas, area, row, column, ROLE_FAINT, right);
}

/* Returns whether the cell shows a character of a word or number, not of a plot or rule. */
static bool is_of_word(int row, int column)
{
    cchar_t cell;
    wchar_t text[CCHARW_MAX + 1] = L"";
    attr_t attributes;
    short pair;
    if (mvin_wch(row, column, &cell) == ERR ||
        getcchar(&cell, text, &attributes, &pair, NULL) == ERR || text[0] <= L' ')
        return false;
    return iswalnum((wint_t)text[0]) || (text[0] < 128 && strchr(".,%'/+-_()", (int)text[0]));
}

/* Erases the cell beside a box and, as far as a word or number is cut there, the rest of it: "12.5"
 * must not remain as "2.5". `step`: -1 from the left edge to the left, 1 to the right. */
static void erase_cut_word(const struct canvas *canvas, int row, int column, int step)
{
    enum { LONGEST = 24, STRIP = 4 }; /* STRIP: so few columns beside a box are left empty */
    const int beside = step < 0 ? column + 1 : canvas->columns - column;
    const int least = beside < STRIP ? beside : 1;
    bool cut = true;
    for (int i = 0; i < LONGEST && column >= 0 && column < canvas->columns; i++) {
        cut = cut && is_of_word(row, column);
        if (!cut && i >= least)
            break;
        mvaddch(row, column, ' ');
        column += step;
    }
}

static void erase_around(const struct canvas *canvas, struct rect area)
{
    attrset((attr_t)canvas->theme->attributes[ROLE_TEXT]);
    for (int row = area.row; row < area.row + area.rows; row++) {
        erase_cut_word(canvas, row, area.column - 1, -1);
        erase_cut_word(canvas, row, area.column + area.columns, 1);
    }
}

struct rect draw_box(struct canvas *canvas, struct rect area, const char *title)
{
    const struct glyphs *glyphs = canvas->glyphs;
    erase_around(canvas, area);
    draw_fill(canvas, area, ROLE_TEXT);
    if (area.rows < 3 || area.columns < 6) /* too small for an edge */
        return area;
    draw_rule(canvas, area, 0, glyphs->top_left, glyphs->top_right);
    draw_rule(canvas, area, area.rows - 1, glyphs->bottom_left, glyphs->bottom_right);
    for (int row = 1; row < area.rows - 1; row++) {
        draw_text(canvas, area, row, 0, ROLE_FAINT, glyphs->vertical);
        draw_text(canvas, area, row, area.columns - 1, ROLE_FAINT, glyphs->vertical);
    }
    struct rect top = {area.row, area.column + 2, 1, area.columns - 4};
    draw_format(canvas, top, 0, 0, ROLE_HEADING, " %s ", title);
    return (struct rect){area.row + 1, area.column + 2, area.rows - 2, area.columns - 4};
}

void draw_gauge(struct canvas *canvas, struct rect area, int row, int column, int columns,
                double fraction, enum role role)
{
    fraction = fraction > 0 ? fmin(fraction, 1) : 0;
    int eighths = (int)(fraction * columns * 8 + 1e-6);
    for (int i = 0; i < columns; i++, eighths -= 8) {
        const char *glyph = eighths >= 8  ? canvas->glyphs->full
                            : eighths > 0 ? canvas->glyphs->eighths[eighths]
                                          : canvas->glyphs->empty;
        column = draw_text(canvas, area, row, column, eighths > 0 ? role : ROLE_RAW, glyph);
    }
}

/* --- tabs --- */

/* The tabs that fit into a line: from `first` up to, but not including, `end`. */
struct tab_window {
    size_t first, end;
};

/* Returns the columns that the tabs of a window take, with a mark where tabs are left out. */
static int tabs_width(const char *const *names, size_t count, struct tab_window window)
{
    int width = (window.first > 0) + (window.end < count);
    for (size_t i = window.first; i < window.end; i++)
        width += (int)columns_of(gettext(names[i])) + 2;
    return width;
}

/* Returns the first window, from the left, that has the selected tab and only whole names. */
static struct tab_window fit_tabs(const char *const *names, size_t count, size_t selected,
                                  int columns)
{
    struct tab_window window = {0, count};
    while (window.first < selected || window.end > selected + 1) {
        while (window.end > selected + 1 && tabs_width(names, count, window) > columns)
            window.end--;
        if (window.first == selected || tabs_width(names, count, window) <= columns)
            break;
        window = (struct tab_window){window.first + 1, count};
    }
    return window;
}

int draw_tabs(struct canvas *canvas, struct rect area, const char *const *names, size_t count,
              size_t selected)
{
    const struct tab_window window = fit_tabs(names, count, selected, area.columns);
    int column = 0;
    for (size_t i = window.first; i < window.end; i++) {
        const char *name = gettext(names[i]);
        if (i == window.first && i > 0) { /* the way to the tabs before */
            column = draw_text(canvas, area, 0, column, ROLE_KEY, canvas->glyphs->left);
            struct rect mark = {area.row, area.column, 1, column};
            targets_add(&canvas->targets, mark, 'v', (i - 1 + count - selected) % count);
        }
        const int start = column;
        column = i == selected ? draw_format(canvas, area, 0, column, ROLE_STRONG, "[%s]", name)
                               : draw_format(canvas, area, 0, column, ROLE_FAINT, " %s ", name);
        struct rect tab = {area.row, area.column + start, 1, column - start};
        targets_add(&canvas->targets, tab, 'v', (i + count - selected) % count);
    }
    if (window.end < count) {
        struct rect mark = {area.row, area.column + column, 1, 1};
        column = draw_text(canvas, area, 0, column, ROLE_KEY, canvas->glyphs->right);
        targets_add(&canvas->targets, mark, 'v', (window.end + count - selected) % count);
    }
    return column;
}

/* --- pictures --- */

static void mean_colour(const struct halfblock *cell, uint8_t rgb[3])
{
    for (int i = 0; i < 3; i++)
        rgb[i] = (uint8_t)((cell->upper[i] + cell->lower[i] + 1) / 2);
}

/* alloc_pair reuses the pairs that were used least recently. Pairs beyond 255 do not fit into an
 * attribute, so they are passed to attr_set separately. */
static void draw_coloured(const struct canvas *canvas, int row, int column,
                          const struct halfblock *cell)
{
    const char *half = canvas->glyphs->upper_half;
    uint8_t mean[3];
    mean_colour(cell, mean);
    const int upper = colour_nearest(half ? cell->upper : mean);
    const int lower = colour_nearest(half ? cell->lower : mean);
    int pair = alloc_pair(upper, lower);
    if (pair < 0)
        return;
    attr_set(A_NORMAL, 0, &pair);
    mvaddstr(row, column, half && upper != lower ? half : " ");
}

/* Returns the luma of a cell (ITU-R BT.601), 0..255. */
static int brightness(const struct halfblock *cell)
{
    uint8_t rgb[3];
    mean_colour(cell, rgb);
    return (299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2]) / 1000;
}

static void draw_grey(const struct canvas *canvas, int row, int column, int value, int low,
                      int high)
{
    static const char ramp[] = " .:-=+*#%@";
    const int steps = (int)sizeof ramp - 1;
    int step = high > low ? (value - low) * steps / (high - low + 1) : steps / 2;
    attrset((attr_t)canvas->theme->attributes[ROLE_TEXT]);
    mvaddch(row, column, (chtype)ramp[canvas->theme->dark ? step : steps - 1 - step]);
}

void draw_halfblocks(struct canvas *canvas, struct rect area, const struct halfblocks *blocks)
{
    int low = 255, high = 0;
    for (size_t i = 0; i < blocks->rows * blocks->columns; i++) {
        int value = brightness(&blocks->cells[i]);
        low = value < low ? value : low;
        high = value > high ? value : high;
    }
    for (int row = 0; row < (int)blocks->rows && row < area.rows; row++)
        for (int column = 0; column < (int)blocks->columns && column < area.columns; column++) {
            const struct halfblock *cell =
                &blocks->cells[(size_t)row * blocks->columns + (size_t)column];
            if (canvas->theme->colours256)
                draw_coloured(canvas, area.row + row, area.column + column, cell);
            else
                draw_grey(canvas, area.row + row, area.column + column, brightness(cell), low,
                          high);
        }
}

void draw_cursor(struct canvas *canvas, struct rect area, int row, int column)
{
    if (row < 0 || row >= area.rows || column < 0)
        return;
    if (column >= area.columns)
        column = area.columns > 0 ? area.columns - 1 : 0;
    canvas->cursor_row = area.row + row;
    canvas->cursor_column = area.column + column;
}

/* --- targets --- */

void targets_clear(struct targets *targets)
{
    targets->count = 0;
    targets->plot = NULL;
}

void targets_add(struct targets *targets, struct rect area, int key, size_t times)
{
    if (targets->count < TARGETS_MAX)
        targets->list[targets->count++] = (struct target){.area = area, .key = key, .times = times};
}

static size_t distance(size_t a, size_t b)
{
    return a < b ? b - a : a - b;
}

void targets_add_cell(struct targets *targets, struct rect area, struct target_cell cell,
                      struct target_cell selected)
{
    size_t down = distance(cell.row, selected.row), across = distance(cell.column, selected.column);
    if (targets->count == TARGETS_MAX)
        return;
    struct target *target = &targets->list[targets->count++];
    *target = (struct target){.area = area,
                              .key = cell.row < selected.row ? UI_UP : UI_DOWN,
                              .times = down,
                              .second_key = cell.column < selected.column ? UI_LEFT : UI_RIGHT,
                              .second_times = across};
    if (down == 0) {
        target->key = across == 0 ? UI_ENTER : target->second_key;
        target->times = across == 0 ? 1 : across;
        target->second_times = 0;
    }
}

void targets_add_row(struct targets *targets, struct rect area, size_t row, size_t selected)
{
    targets_add_cell(targets, area, (struct target_cell){row, 0},
                     (struct target_cell){selected, 0});
}

void targets_add_choice(struct targets *targets, struct rect area, size_t row, size_t selected)
{
    if (targets->count < TARGETS_MAX)
        targets->list[targets->count++] = (struct target){.area = area,
                                                          .key = row < selected ? UI_UP : UI_DOWN,
                                                          .times = distance(row, selected),
                                                          .second_key = UI_ENTER,
                                                          .second_times = 1};
}

void targets_add_column(struct targets *targets, struct rect area, size_t column, size_t selected)
{
    targets_add_cell(targets, area, (struct target_cell){0, column},
                     (struct target_cell){0, selected});
}

static bool holds(struct rect area, int row, int column)
{
    return row >= area.row && row < area.row + area.rows && column >= area.column &&
           column < area.column + area.columns;
}

const struct target *targets_find(const struct targets *targets, int row, int column)
{
    for (size_t i = targets->count; i-- > 0;)
        if (holds(targets->list[i].area, row, column))
            return &targets->list[i];
    return NULL;
}

/* --- half blocks ---
 *
 * The picture is scaled so that a cell holds one pixel across and two down; then each cell takes
 * its two pixels. */

static size_t at_least_one(size_t count)
{
    return count ? count : 1;
}

/* Returns `side` scaled by `to / from`, rounded, at least 1. */
static size_t scaled(size_t side, size_t to, size_t from)
{
    return at_least_one((side * to + from / 2) / from);
}

static void fit(const struct image *image, size_t rows, size_t columns, size_t *height,
                size_t *width)
{
    *width = at_least_one(columns);
    *height = scaled(image->height, *width, image->width);
    if (*height > 2 * at_least_one(rows)) {
        *height = 2 * at_least_one(rows);
        *width = scaled(image->width, *height, image->height);
    }
}

static bool copy(struct image *out, const struct image *image, size_t width, size_t height,
                 struct error *error)
{
    return image_cut(out, image, 0, 0, image->width, image->height, error) &&
           image_convert(out, 3, error) && image_scale(out, width, height, error);
}

/* Copies the pixels into the cells. With an odd height the last row repeats its upper pixels. */
static void take_cells(struct halfblocks *blocks, const struct image *image)
{
    for (size_t row = 0; row < blocks->rows; row++) {
        const size_t lower = 2 * row + 1 < image->height ? 2 * row + 1 : 2 * row;
        for (size_t column = 0; column < blocks->columns; column++) {
            struct halfblock *cell = &blocks->cells[row * blocks->columns + column];
            memcpy(cell->upper, image->pixels + (2 * row * image->width + column) * 3, 3);
            memcpy(cell->lower, image->pixels + (lower * image->width + column) * 3, 3);
        }
    }
}

bool halfblocks_make(struct halfblocks *blocks, const struct image *image, size_t rows,
                     size_t columns, struct error *error)
{
    size_t width, height;
    struct image small = {0};
    *blocks = (struct halfblocks){0};
    fit(image, rows, columns, &height, &width);
    if (copy(&small, image, width, height, error)) {
        blocks->rows = (height + 1) / 2;
        blocks->columns = width;
        blocks->cells =
            memory_new(blocks->rows * width, sizeof *blocks->cells, "a picture's cells", error);
    }
    if (blocks->cells)
        take_cells(blocks, &small);
    image_free(&small);
    return blocks->cells != NULL;
}

void halfblocks_free(struct halfblocks *blocks)
{
    free(blocks->cells);
    *blocks = (struct halfblocks){0};
}

/* --- the colours of xterm --- */

static int colour_distance(const uint8_t rgb[3], int red, int green, int blue)
{
    const int r = rgb[0] - red, g = rgb[1] - green, b = rgb[2] - blue;
    return r * r + g * g + b * b;
}

uint8_t colour_nearest(const uint8_t rgb[3])
{
    static const uint8_t levels[6] = {0, 95, 135, 175, 215, 255};
    int step[3];
    for (int i = 0; i < 3; i++)
        step[i] = rgb[i] < 48 ? 0 : rgb[i] < 115 ? 1 : (rgb[i] - 35) / 40;
    const int mean = (rgb[0] + rgb[1] + rgb[2]) / 3;
    const int grey = mean < 8 ? 0 : mean > 238 ? 23 : (mean - 3) / 10;
    const int cube_off = colour_distance(rgb, levels[step[0]], levels[step[1]], levels[step[2]]);
    const int grey_off = colour_distance(rgb, 8 + 10 * grey, 8 + 10 * grey, 8 + 10 * grey);
    return (uint8_t)(grey_off < cube_off ? 232 + grey : 16 + 36 * step[0] + 6 * step[1] + step[2]);
}

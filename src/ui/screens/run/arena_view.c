/* The plan's arena as a map: the x axis is the execution order of the forward and the backward
 * pass, the y axis the address. A cell shows the array that occupies the cell's centre; an empty
 * cell is free memory. The selected array is shown however small it is. The workspace lies above
 * all arrays at all times, and gets one line. */
#include "ui/app/app.h"
#include "ui/screens/run/internal.h"

#include "base/language.h"
#include "base/number.h"
#include "base/text.h"
#include "ui/terminal/columns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[] = {N_("values"), N_("gradients"), N_("saved"),
                                         N_("recomputed")};
/* Names of the plans in adversarial training. */
static const char *const arena_names[] = {N_("generator"), N_("discriminator, trained"),
                                          N_("discriminator, frozen")};
/* Colours by kind of array; shades show the same without colour. */
static const enum role kind_roles[] = {ROLE_SERIES, ROLE_SERIES + 1, ROLE_SERIES + 2,
                                       ROLE_SERIES + 3};

/* --- selection --- */

/* Returns array number `nth`, counted from the largest. */
static const struct inspection_array *nth_largest(const struct inspection_arena *arena, size_t nth)
{
    for (size_t i = 0; i < arena->array_count; i++) {
        const struct inspection_array *array = &arena->arrays[i];
        size_t larger = 0;
        for (size_t k = 0; k < arena->array_count; k++)
            larger += arena->arrays[k].bytes > array->bytes ||
                      (k < i && arena->arrays[k].bytes == array->bytes);
        if (larger == nth)
            return array;
    }
    return NULL;
}

static void move(struct app *app, const struct run_entry *entry, int how)
{
    struct arena_model *view = &run_model(app)->arena;
    (void)entry;
    if (how == MOVE_LEFT || how == MOVE_RIGHT) {
        /* +5 is -1 modulo 1, 2 and 3, and there are at most three arenas */
        view->arena += how == MOVE_RIGHT ? 1 : 5;
        view->selected = 0;
    } else /* drawing limits it to the last array */
        view->selected = list_move(view->selected, how, 1, SIZE_MAX / 4);
}

/* --- the map --- */

struct map {
    const struct inspection_arena *arena;
    const struct inspection_array *selected;
    struct rect area;
    double times, bytes; /* extent of the map, without the workspace */
    const char **names;  /* of the arrays; NULL: out of memory */
};

/* Writes the range [*from, *to) of `count` cells whose centres lie within first..last of `all`;
 * with `visible` the range has at least one cell. */
static void cells_of(double first, double last, double all, int count, bool visible, int *from,
                     int *to)
{
    *from = number_to_int(ceil(first * count / all - 0.5));
    *to = number_to_int(ceil(last * count / all - 0.5));
    *to = *to < count ? *to : count;
    if (!visible || *to > *from)
        return;
    *from = *from < count ? *from : count - 1;
    *to = *from + 1;
}

/* Draws an array's rectangle, with its name at the left, shortened if that leaves enough of it. */
static void draw_array(struct canvas *canvas, const struct map *map,
                       const struct inspection_array *array)
{
    enum { LEAST_NAME = 8 };
    const struct rect area = map->area;
    const bool selected = array == map->selected;
    int left, right, low, high;
    cells_of((double)array->first, (double)array->last + 1, map->times, area.columns, selected,
             &left, &right);
    cells_of((double)array->offset, (double)(array->offset + array->bytes), map->bytes, area.rows,
             selected, &low, &high);
    for (int row = area.rows - high; row < area.rows - low; row++)
        for (int column = left; column < right; column++)
            draw_text(canvas, area, row, column, selected ? ROLE_STRONG : kind_roles[array->kind],
                      selected ? canvas->glyphs->full : canvas->glyphs->shades[array->kind]);
    const int width = (int)columns_of(array->name), room = right - left - 2;
    const struct rect name = {area.row, area.column + left + 1, area.rows, room};
    char shown[256];
    if (low >= high || room < 1 || (width > room && room < LEAST_NAME))
        return;
    if (map->names)
        columns_fit_among(map->names, map->arena->array_count, (size_t)(array - map->arena->arrays),
                          (size_t)room, canvas->glyphs->cut, shown, sizeof shown);
    draw_fitted_name(canvas, name, area.rows - 1 - (low + high - 1) / 2, 0,
                     selected ? ROLE_FOCUS : ROLE_TEXT, map->names ? shown : array->name);
}

/* Draws the workspace above the map, addresses at the left and the passes below. */
static void draw_frame(struct canvas *canvas, const struct map *map, struct rect labels, bool above,
                       bool below)
{
    char text[32], workspace[80];
    const struct rect area = map->area;
    struct rect top = {area.row - 1, area.column, above, area.columns};
    struct rect line = {area.row + area.rows, area.column, below, area.columns};
    snprintf(workspace, sizeof workspace, _("workspace, %s"),
             text_bytes(map->arena->workspace, text, sizeof text));
    draw_text(canvas, top, 0, 0, ROLE_FAINT, workspace);
    text_bytes(map->arena->bytes - map->arena->workspace, text, sizeof text);
    draw_right(canvas, labels, 0, ROLE_FAINT, text);
    if (area.rows > 2)
        draw_right(canvas, labels, area.rows - 1, ROLE_FAINT, "0");
    draw_text(canvas, line, 0, 0, ROLE_FAINT, _("forward"));
    draw_format(canvas, line, 0,
                number_to_int((double)area.columns * (double)map->arena->steps / map->times),
                ROLE_FAINT, "| %s", _("backward"));
}

static void draw_map(struct canvas *canvas, struct rect area, const struct inspection_arena *arena,
                     const struct inspection_array *selected)
{
    const int margin = area.columns >= 50 ? 10 : 0;
    const bool below = area.rows >= 4, above = area.rows >= 5 && arena->workspace > 0;
    struct rect middle = {area.row + above, area.column + margin, area.rows - above - below,
                          area.columns - margin};
    struct rect labels = {middle.row, area.column, middle.rows, margin ? margin - 1 : 0};
    struct map map = {.arena = arena,
                      .selected = selected,
                      .area = middle,
                      .times = (double)arena->times,
                      .bytes = (double)(arena->bytes - arena->workspace)};
    if (rect_is_empty(middle) || !(map.bytes > 0) || !(map.times > 0))
        return;
    map.names = malloc(arena->array_count * sizeof *map.names);
    for (size_t i = 0; map.names && i < arena->array_count; i++)
        map.names[i] = arena->arrays[i].name;
    for (size_t i = 0; i < arena->array_count; i++)
        draw_array(canvas, &map, &arena->arrays[i]);
    if (selected)
        draw_array(canvas, &map, selected);
    free(map.names);
    draw_frame(canvas, &map, labels, above, below);
}

/* --- legend and selected array --- */

/* Draws the legend; entries that do not fit are left out at the right. Returns the column behind
 * it. */
static int draw_legend(struct canvas *canvas, struct rect area, const char *name, bool again)
{
    int column = 1;
    if (name)
        column = draw_format(canvas, area, 0, column, ROLE_STRONG, "%s %s %s", canvas->glyphs->left,
                             name, canvas->glyphs->right) +
                 2;
    for (size_t i = 0; i <= PLAN_VALUE_RECOMPUTED; i++) {
        if (i == PLAN_VALUE_RECOMPUTED && !again)
            return column;
        const char *shade = canvas->glyphs->shades[i], *kind = gettext(kind_names[i]);
        if (column + 3 + (int)columns_of(kind) > area.columns)
            return column;
        column = draw_format(canvas, area, 0, column, kind_roles[i], "%s%s", shade, shade);
        column = draw_format(canvas, area, 0, column, ROLE_TEXT, " %s", kind) + 2;
    }
    return column;
}

static void write_time(const struct inspection_arena *arena, uint64_t time, char *text, size_t size)
{
    if (time < arena->steps)
        snprintf(text, size, _("forward %llu"), (unsigned long long)time + 1);
    else if (time < arena->times && arena->times == 2 * arena->steps)
        snprintf(text, size, _("backward %llu"), (unsigned long long)(2 * arena->steps - time));
    else if (time < arena->times) /* recomputed passes are counted with the others */
        snprintf(text, size, _("pass %llu of %llu on the way back"),
                 (unsigned long long)time - arena->steps + 1,
                 (unsigned long long)(arena->times - arena->steps));
    else
        snprintf(text, size, "%s", _("the iteration's end"));
}

static void draw_selected(struct canvas *canvas, struct rect area,
                          const struct inspection_arena *arena, size_t nth,
                          const struct inspection_array *array)
{
    char bytes[32], offset[32], first[48], last[48];
    text_bytes(array->bytes, bytes, sizeof bytes);
    text_bytes(array->offset, offset, sizeof offset);
    write_time(arena, array->first, first, sizeof first);
    write_time(arena, array->last, last, sizeof last);
    draw_cursor(canvas, area, 0, 0);
    draw_format(canvas, area, 0, 1, ROLE_STRONG, _("%s %s (%s): %s, %zu of %zu"),
                canvas->glyphs->full, array->name, gettext(kind_names[array->kind]), bytes, nth + 1,
                arena->array_count);
    draw_format(canvas, area, 1, 1, ROLE_TEXT, _("at %s, from %s to %s"), offset, first, last);
}

static void draw(struct app *app, struct run_entry *entry, const struct run_layout *layout,
                 const struct run_display *display)
{
    (void)display;
    char when[120];
    struct arena_model *view = &run_model(app)->arena;
    struct rect area = layout->view;
    const struct inspection *seen = insight_get(app, entry, area);
    if (!seen || seen->arena_count == 0)
        return;
    view->arena %= seen->arena_count;
    const struct inspection_arena *arena = &seen->arenas[view->arena];
    if (view->selected >= arena->array_count)
        view->selected = arena->array_count > 0 ? arena->array_count - 1 : 0;
    const struct inspection_array *selected = nth_largest(arena, view->selected);
    const int below = area.rows >= 7 ? 2 : area.rows >= 5, above = area.rows >= 6;
    struct rect legend = {area.row, area.column, above, area.columns};
    struct rect map = {area.row + above, area.column, area.rows - above - below, area.columns};
    struct rect facts = {map.row + map.rows, area.column, below, area.columns};
    legend.column += draw_legend(&app->canvas, legend,
                                 seen->arena_count > 1 ? gettext(arena_names[view->arena]) : NULL,
                                 arena->times > 2 * arena->steps);
    legend.columns = area.column + area.columns - legend.column;
    insight_when(seen, entry, when, sizeof when);
    if ((int)columns_of(when) < legend.columns)
        draw_right(&app->canvas, legend, 0, ROLE_FAINT, when);
    draw_map(&app->canvas, map, arena, selected);
    if (selected)
        draw_selected(&app->canvas, facts, arena, view->selected, selected);
}

const struct view view_arena = {.name = N_("Arena"),
                                .covers_figures = true,
                                .inspects = true,
                                .draw = draw,
                                .moves = VIEW_SCROLLS | VIEW_TURNS | VIEW_ENDS,
                                .move = move};

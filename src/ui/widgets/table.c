/* Columns that do not fit are left out by priority, the least important first; what is left over
 * goes to those that grow. */
#include "ui/widgets/table.h"

#include "ui/terminal/columns.h"
#include "ui/terminal/keys.h"

#include <stdlib.h>

static int total_width(const int *widths, size_t count)
{
    int total = 0;
    for (size_t i = 0; i < count; i++)
        total += widths[i] ? widths[i] + 1 : 0;
    return total - 1;
}

void table_fit(const struct table_column *table, size_t count, int columns, int *starts,
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

size_t table_scroll(size_t top, size_t selected, size_t rows, size_t count)
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

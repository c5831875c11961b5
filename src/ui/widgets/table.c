#include "ui/widgets/table.h"

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

#include "ui/targets.h"

#include "ui/keys.h"

void targets_forget(struct targets *targets)
{
    targets->count = 0;
}

void targets_add(struct targets *targets, struct rect area, int key, size_t times)
{
    if (targets->count < TARGETS_MAX)
        targets->list[targets->count++] = (struct target){area, key, times};
}

void targets_add_row(struct targets *targets, struct rect area, size_t row, size_t selected)
{
    if (row == selected)
        targets_add(targets, area, UI_ENTER, 1);
    else if (row < selected)
        targets_add(targets, area, UI_UP, selected - row);
    else
        targets_add(targets, area, UI_DOWN, row - selected);
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

#include "ui/terminal/draw.h"

#include "ui/terminal/keys.h"

void targets_clear(struct targets *targets)
{
    targets->count = 0;
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

/* Tests what a click does: places that cover others, rows of lists, and too many places. */
#include "tap.h"

#include "ui/terminal/draw.h"
#include "ui/terminal/keys.h"

static struct targets targets;

static bool is(int row, int column, int key, size_t times)
{
    const struct target *found = targets_find(&targets, row, column);
    return found && found->key == key && found->times == times;
}

static bool is_then(int row, int column, int key, size_t times, int then, size_t second_times)
{
    const struct target *found = targets_find(&targets, row, column);
    return is(row, column, key, times) && found->second_times == second_times &&
           (second_times == 0 || found->second_key == then);
}

TEST_CASE(targets_test)
{
    targets_add(&targets, (struct rect){2, 3, 2, 4}, 'a', 1);
    tap_ok(is(2, 3, 'a', 1) && is(3, 6, 'a', 1), "a place includes its corners");
    tap_ok(!targets_find(&targets, 1, 3) && !targets_find(&targets, 2, 7) &&
               !targets_find(&targets, 4, 3),
           "a place does not reach beyond its corners");
    targets_add(&targets, (struct rect){3, 0, 1, 80}, 'b', 1);
    tap_ok(is(3, 4, 'b', 1) && is(2, 4, 'a', 1), "a later place covers an earlier one");
    targets_clear(&targets);
    tap_ok(!targets_find(&targets, 3, 4), "places are removed with their frame");
    for (size_t row = 0; row < 5; row++)
        targets_add_row(&targets, (struct rect){(int)row, 0, 1, 10}, row, 2);
    tap_ok(is(0, 0, UI_UP, 2) && is(1, 9, UI_UP, 1), "a click on a row above presses Up");
    tap_ok(is(2, 5, UI_ENTER, 1), "a click on the selected row presses Enter");
    tap_ok(is(4, 5, UI_DOWN, 2), "a click on a row below presses Down");
    targets_clear(&targets);
    for (size_t column = 0; column < 3; column++)
        targets_add_column(&targets, (struct rect){0, 4 * (int)column, 1, 4}, column, 1);
    tap_ok(is(0, 0, UI_LEFT, 1) && is(0, 4, UI_ENTER, 1) && is(0, 11, UI_RIGHT, 1),
           "a click on a column beside presses Left or Right");
    targets_clear(&targets);
    for (size_t cell = 0; cell < 12; cell++)
        targets_add_cell(&targets, (struct rect){(int)(cell / 4), (int)(cell % 4), 1, 1},
                         (struct target_cell){cell / 4, cell % 4}, (struct target_cell){1, 2});
    tap_ok(is_then(0, 0, UI_UP, 1, UI_LEFT, 2) && is_then(2, 3, UI_DOWN, 1, UI_RIGHT, 1),
           "a click on a cell of a grid moves to its row, then to its column");
    tap_ok(is_then(2, 2, UI_DOWN, 1, UI_RIGHT, 0) && is_then(1, 0, UI_LEFT, 2, UI_LEFT, 0),
           "within the selected row or column one key is enough");
    tap_ok(is(1, 2, UI_ENTER, 1), "a click on the selected cell presses Enter");
    targets_clear(&targets);
    for (size_t i = 0; i < 2 * TARGETS_MAX; i++)
        targets_add(&targets, (struct rect){0, 0, 1, 1}, 'c', 1);
    targets_add_row(&targets, (struct rect){0, 0, 1, 1}, 0, 1);
    tap_ok(targets.count == TARGETS_MAX, "places beyond TARGETS_MAX are left out");
    return tap_done();
}

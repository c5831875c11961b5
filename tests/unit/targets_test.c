/* What a click does: places above others, rows of lists, and too many places. */
#include "tap.h"

#include "ui/keys.h"
#include "ui/targets.h"

static struct targets targets;

static bool is(int row, int column, int key, size_t times)
{
    const struct target *found = targets_find(&targets, row, column);
    return found && found->key == key && found->times == times;
}

int main(void)
{
    targets_add(&targets, (struct rect){2, 3, 2, 4}, 'a', 1);
    tap_ok(is(2, 3, 'a', 1) && is(3, 6, 'a', 1), "a place reaches to its corners");
    tap_ok(!targets_find(&targets, 1, 3) && !targets_find(&targets, 2, 7) &&
               !targets_find(&targets, 4, 3),
           "and no further");
    targets_add(&targets, (struct rect){3, 0, 1, 80}, 'b', 1);
    tap_ok(is(3, 4, 'b', 1) && is(2, 4, 'a', 1), "a later place lies above an earlier");
    targets_forget(&targets);
    tap_ok(!targets_find(&targets, 3, 4), "places are forgotten with their frame");
    for (size_t row = 0; row < 5; row++)
        targets_add_row(&targets, (struct rect){(int)row, 0, 1, 10}, row, 2);
    tap_ok(is(0, 0, UI_UP, 2) && is(1, 9, UI_UP, 1), "rows above the selected one");
    tap_ok(is(2, 5, UI_ENTER, 1), "the selected row is opened");
    tap_ok(is(4, 5, UI_DOWN, 2), "rows below it");
    for (size_t i = 0; i < 2 * TARGETS_MAX; i++)
        targets_add(&targets, (struct rect){0, 0, 1, 1}, 'c', 1);
    tap_ok(targets.count == TARGETS_MAX, "what does not fit is left out");
    return tap_done();
}

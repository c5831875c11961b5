/* What ranks of a sweep share: the order of the cells, the token in the folder, and the answers. */
#include "studies/sweep/sweep_estimate.h"
#include "studies/sweep/sweep_rank.h"

#include "base/files/file.h"

#include "session_files.h"

#include <fcntl.h>
#include <sys/file.h>

/* Makes a sweep of mlp and lenet; `data` may be a list, and `length` is "iterations" or "epochs".
 */
static bool make(struct sweep *sweep, const char *name, const char *batches, const char *data,
                 const char *length)
{
    struct sweep_grid grid;
    sweep_grid_begin(&grid);
    snprintf(grid.name, sizeof grid.name, "%s", name);
    const bool made = config_set(&grid.base, length, "10", NULL) &&
                      sweep_grid_vary(&grid, "networks", "mlp,lenet", NULL) &&
                      sweep_grid_vary(&grid, "batches", batches, NULL) &&
                      sweep_grid_vary(&grid, "data", data, NULL) &&
                      sweep_create(sweep, &grid, NULL);
    sweep_grid_free(&grid);
    for (size_t i = 0; made && i < sweep->count; i++)
        sweep_forecast(sweep, i, 1);
    return made;
}

/* Writes the numbers of the cells in their order. */
static const char *order_of(const struct sweep *sweep, const struct sweep_estimate *estimate)
{
    static char text[128];
    size_t length = 0;
    size_t *order = sweep_order_make(sweep, estimate, NULL);
    for (size_t i = 0; order && i < sweep->count; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%zu ", order[i] + 1);
    free(order);
    return text;
}

static void is_order(const struct sweep *sweep, const char *wanted, const char *name)
{
    const struct sweep_estimate none = {0};
    const char *order = order_of(sweep, &none);
    tap_ok(strcmp(order, wanted) == 0, "%s: %s", name, order);
}

/* --- the order --- */

static void test_order(void)
{
    struct sweep sweep;
    make(&sweep, "order", "1,2,8", "digits", "iterations");
    is_order(&sweep, "6 5 3 4 2 1 ", "iterations: by FLOPs x batch");
    sweep.cells[5].state = SWEEP_DONE;
    is_order(&sweep, "5 3 4 2 1 6 ", "a cell that is trained is last");
    snprintf(sweep.cells[3].config.device, sizeof sweep.cells[3].config.device, "cuda:77");
    sweep.cells[3].forecast_known = false;
    is_order(&sweep, "5 3 4 2 1 6 ", "a cell whose device is missing here has its place");
    sweep_free(&sweep);

    make(&sweep, "order", "1,2,8", "digits", "epochs");
    is_order(&sweep, "4 5 6 1 2 3 ", "epochs: whatever the batch, in the order of the grid");
    sweep.cells[1].config.epochs = 100;
    is_order(&sweep, "2 4 5 6 1 3 ", "more epochs are more work");
    sweep_free(&sweep);

    make(&sweep, "order", "1", "digits,limit=40;digits,limit=4000", "epochs");
    is_order(&sweep, "4 2 3 1 ", "data sets of different sizes: by their images");
    snprintf(sweep.cells[3].config.data, sizeof sweep.cells[3].config.data, "idx:/nowhere");
    is_order(&sweep, "2 3 1 4 ", "data that is missing here has no size");
    sweep_free(&sweep);
}

/* --- the folder --- */

static void test_token(void)
{
    struct sweep sweep;
    struct sweep_token token;
    struct error error;
    bool locked = false;
    make(&sweep, "token", "1", "digits", "iterations");
    const int descriptor =
        sweep_save(&sweep, &error) ? sweep_token_write(&sweep, &token, &error) : -1;
    tap_ok(descriptor >= 0, "a token is written");
    tap_ok(sweep_token_find(&token, &locked, &error) && locked, "it is found, and its lock");
    flock(descriptor, LOCK_UN);
    tap_ok(sweep_token_find(&token, &locked, &error) && !locked, "a lock that is not seen shows");
    struct sweep_token other = token;
    other.text[0] ^= 1;
    tap_ok(!sweep_token_find(&other, &locked, &error) && strstr(error.what, "/token") &&
               strstr(error.why, token.file),
           "another file of its name is refused: %s: %s", error.what, error.why);
    sweep_token_remove(&sweep, &token, descriptor);
    tap_ok(!sweep_token_find(&token, &locked, &error), "a token that is removed is not found");
    sweep_free(&sweep);
}

/* --- answers --- */

static void test_answer(void)
{
    struct sweep sweep, opened = {0};
    struct sweep_answer answer;
    struct error error;
    make(&sweep, "answer", "1,2", "digits", "iterations");
    struct sweep_call call = {.called = true, .mark = sweep_mark(&sweep)};
    const int descriptor =
        sweep_save(&sweep, &error) ? sweep_token_write(&sweep, &call.token, &error) : -1;
    sweep_rank_answer(&call, &opened, &answer);
    tap_ok(descriptor >= 0 && answer.ready && answer.locked && opened.count == 4,
           "a rank opens the sweep of rank 0");
    sweep_free(&opened);

    struct sweep larger;
    make(&larger, "answer", "1,2,4", "digits", "iterations");
    sweep_save(&larger, &error);
    sweep_rank_answer(&call, &opened, &answer);
    tap_ok(!answer.ready && strstr(answer.error.why, "not those of rank 0"),
           "a grid that was changed meanwhile is refused: %s", answer.error.why);
    sweep_free(&opened);
    sweep_free(&larger);
    sweep_token_remove(&sweep, &call.token, descriptor);
    sweep_free(&sweep);
}

static void test_results(void)
{
    struct sweep sweep;
    struct error error;
    make(&sweep, "results", "1,2", "digits", "iterations");
    sweep_save(&sweep, &error);
    sweep.cells[1].state = SWEEP_CANNOT_FIT;
    error_set(&sweep.cells[1].reason, ERROR_MEMORY, "batch 2", "batch 1 would fit", "too large");
    struct sweep_message message = sweep_rank_result(&sweep, 1, true);
    sweep.cells[1].state = SWEEP_RUNNING;
    sweep_rank_take_result(&sweep, &message);
    tap_ok(message.leaving && sweep.cells[1].state == SWEEP_CANNOT_FIT &&
               strcmp(sweep.cells[1].reason.why, "too large") == 0,
           "a result that is in no file comes by message");
    message.state = SWEEP_RUNNING; /* it was computed by another process, which has given up */
    sweep_rank_take_result(&sweep, &message);
    tap_ok(sweep.cells[1].state == SWEEP_WAITING, "where another process computed it, files count");
    sweep_free(&sweep);
}

TEST_CASE(sweep_ranks_test)
{
    if (!tap_ok(make_home(), "a state folder"))
        return tap_done();
    test_order();
    test_token();
    test_answer();
    test_results();
    remove_home();
    return tap_done();
}

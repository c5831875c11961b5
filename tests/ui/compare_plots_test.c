/* The models of the scatter plot and of the parallel coordinates, without a terminal. */
#include "made_runs.h"
#include "ui/screens/compare/internal.h"

static const struct made_run made[] = {
    {"20260101-000000-resnet20-0001", "resnet20", "none", NULL, 86, 272762, "cpu", 2.0, 0.1, false},
    {"20260102-000000-resnet20-0002", "resnet20-shift", "shift", NULL, 82, 35194, "cpu", 1.5, 0.1,
     false},
    {"20260103-000000-resnet20-0003", "resnet20-dsc", "dsc", "digits", 80, 40000, "cpu", 1.65, 0.1,
     false},
    {"20260104-000000-lenet-0004", "lenet", "none", "digits", NAN, 3000, NULL, 0, 0, false},
};
enum { RUNS = sizeof made / sizeof *made };
static struct run *runs[RUNS];
static struct comparison table;

static bool fill(void)
{
    struct error error;
    for (size_t i = 0; i < RUNS; i++)
        if (!runs[i] || !compare_add_run(&table, runs[i], &error))
            return false;
    return compare_complete(&table, &error) && compare_add_settings(&table, &error);
}

/* --- scatter --- */

static void test_points(struct compare_scatter *scatter)
{
    struct error error;
    tap_ok(compare_scatter_build(scatter, &table, &error) && scatter->usable &&
               strcmp(scatter->names[SCATTER_X], "parameters") == 0 &&
               strcmp(scatter->names[SCATTER_Y], "best_top1") == 0,
           "at first accuracy over parameters");
    tap_ok(scatter->count == 3 && scatter->unknown[SCATTER_X] == 0 &&
               scatter->unknown[SCATTER_Y] == 1 &&
               !scatter_find(scatter->points, scatter->count, 3),
           "a run without an accuracy is counted, not drawn");
    tap_ok(scatter->has_front && scatter->front.count == 2 &&
               compare_front_has(&scatter->front, 0) && compare_front_has(&scatter->front, 1),
           "the Pareto front");
    tap_ok(compare_scatter_neighbour(scatter, 1, 1, 0) == 2 &&
               compare_scatter_neighbour(scatter, 2, 1, 0) == 0 &&
               compare_scatter_neighbour(scatter, 0, 1, 0) == 0 &&
               compare_scatter_neighbour(scatter, 0, -1, 0) == 1,
           "left and right go to the nearest point there");
    tap_ok(compare_scatter_neighbour(scatter, 2, 0, 1) == 1 &&
               compare_scatter_neighbour(scatter, 1, 0, -1) == 2,
           "so do up and down");
    tap_ok(compare_scatter_neighbour(scatter, 3, 0, 1) == 0, "from no point to the first one");
}

static void test_scales(struct compare_scatter *scatter)
{
    struct error error;
    bool scales[SCATTER_AXES][5];
    for (size_t i = 0; i < 5; i++) {
        compare_scatter_build(scatter, &table, &error);
        for (size_t axis = 0; axis < SCATTER_AXES; axis++)
            scales[axis][i] = scatter->axes[axis].log;
        compare_scatter_next_scale(scatter);
    }
    tap_ok(!scales[0][0] && scales[0][1] && !scales[0][2] && scales[0][3] && !scales[0][4] &&
               !scales[1][0] && !scales[1][1] && scales[1][2] && scales[1][3] && !scales[1][4],
           "scales: linear, log x, log y, both");
}

static void test_figures(struct compare_scatter *scatter)
{
    struct error error;
    snprintf(scatter->names[SCATTER_X], SCATTER_NAME, "ms cpu");
    tap_ok(compare_scatter_build(scatter, &table, &error) && scatter->count == 3 &&
               scatter->unknown[SCATTER_X] == 1 && scatter->points[1].at[SCATTER_X] == 1.5,
           "another figure");
    snprintf(scatter->names[SCATTER_X], SCATTER_NAME, "ms tpu");
    tap_ok(compare_scatter_build(scatter, &table, &error) &&
               strcmp(scatter->names[SCATTER_X], "parameters") == 0,
           "a figure that has gone is replaced");
    struct comparison empty = {0};
    tap_ok(compare_scatter_build(scatter, &empty, &error) && !scatter->usable,
           "an empty table has no figures");
}

/* --- parallel coordinates --- */

static size_t axis_at(const struct compare_parallel *parallel, const char *name)
{
    size_t at = 0;
    while (at < parallel->shown && strcmp(parallel->axes[at].name, name) != 0)
        at++;
    return at;
}

static void test_axes(struct compare_parallel *parallel)
{
    struct error error;
    if (!tap_ok(compare_parallel_build(parallel, &table, &error), "the axes are built"))
        return;
    const size_t network = axis_at(parallel, "network"), top1 = axis_at(parallel, "best_top1");
    tap_ok(network == 0 && top1 == parallel->shown - 1, "settings come first, the accuracy last");
    tap_ok(axis_at(parallel, "batch") == parallel->shown, "what does not differ has no axis");
    tap_ok(compare_parallel_position(parallel, top1, 0) == 1 &&
               compare_parallel_position(parallel, top1, 2) == 0 &&
               isnan(compare_parallel_position(parallel, top1, 3)),
           "the highest value is at the top, an unknown one nowhere");
    tap_ok(compare_parallel_position(parallel, network, 3) == 0 &&
               compare_parallel_position(parallel, network, 0) > 0,
           "names stand in alphabetical order");
    tap_ok(parallel->axes[axis_at(parallel, "parameters")].scale.log,
           "a wide range of numbers is logarithmic");
    tap_ok(compare_parallel_step(parallel, 0) == PARALLEL_STEPS - 1 &&
               compare_parallel_step(parallel, 2) == 0 &&
               compare_parallel_step(parallel, 3) == PARALLEL_UNKNOWN,
           "the last axis gives the steps");
}

static void test_brushes(struct compare_parallel *parallel)
{
    struct error error;
    parallel->selected = axis_at(parallel, "best_top1");
    const struct parallel_axis *axis = &parallel->axes[parallel->selected];
    tap_ok(compare_parallel_count(parallel) == 4, "without a brush all runs pass");
    compare_parallel_brush(parallel, true, true);
    tap_ok(axis->brushed && axis->low == 82 && compare_parallel_count(parallel) == 2 &&
               !compare_parallel_passes(parallel, 3),
           "a brush lets its range pass, not an unknown value");
    compare_parallel_brush(parallel, false, false);
    compare_parallel_brush(parallel, false, false);
    tap_ok(axis->low == 82 && axis->high == 82 && compare_parallel_count(parallel) == 1,
           "the ends do not cross");
    tap_ok(compare_parallel_build(parallel, &table, &error) && axis->brushed &&
               compare_parallel_count(parallel) == 1,
           "a brush stays when the table is built again");
    compare_parallel_brush(parallel, false, true);
    compare_parallel_brush(parallel, true, false);
    tap_ok(!axis->brushed && compare_parallel_count(parallel) == 4,
           "a brush over the whole axis is none");
    compare_parallel_brush(parallel, true, true);
    compare_parallel_clear_brush(parallel, true);
    tap_ok(compare_parallel_count(parallel) == 4, "all brushes are removed");
}

static void test_arrangement(struct compare_parallel *parallel)
{
    struct error error;
    const size_t shown = parallel->shown;
    parallel->selected = shown - 1;
    compare_parallel_move(parallel, true);
    tap_ok(axis_at(parallel, "best_top1") == shown - 1, "the last axis cannot move to the right");
    compare_parallel_move(parallel, false);
    tap_ok(axis_at(parallel, "best_top1") == shown - 2 && parallel->selected == shown - 2,
           "but to the left, and stays selected");
    compare_parallel_brush(parallel, true, true);
    compare_parallel_leave_out(parallel);
    tap_ok(parallel->shown == shown - 1 && axis_at(parallel, "best_top1") == parallel->shown &&
               compare_parallel_count(parallel) == 4,
           "an axis is left out, with its brush");
    compare_parallel_build(parallel, &table, &error);
    tap_ok(parallel->shown == shown - 1, "and stays left out");
    compare_parallel_show(parallel, "best_top1");
    tap_ok(parallel->shown == shown && axis_at(parallel, "best_top1") == shown - 2,
           "and comes back");
    for (size_t i = 0; i < 2 * shown; i++)
        compare_parallel_leave_out(parallel);
    tap_ok(parallel->shown == 1 && parallel->selected == 0, "one axis stays");
}

TEST_CASE(compare_plots_test)
{
    static struct compare_scatter scatter;
    static struct compare_parallel parallel;
    bool written = make_home();
    for (size_t i = 0; written && i < RUNS; i++)
        written = (runs[i] = make_run(&made[i]));
    if (tap_ok(written && fill(), "runs to compare")) {
        test_points(&scatter);
        test_scales(&scatter);
        test_figures(&scatter);
        test_axes(&parallel);
        test_brushes(&parallel);
        test_arrangement(&parallel);
    }
    compare_scatter_free(&scatter);
    compare_parallel_free(&parallel);
    compare_free(&table);
    for (size_t i = 0; i < RUNS; i++)
        run_free(runs[i]);
    remove_home();
    return tap_done();
}

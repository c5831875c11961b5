/* The figures of a comparison: their names and values, sorting in both directions, and the Pareto
 * front, which is checked against its definition on random points. */
#include "studies/compare/pareto.h"

#include "made_runs.h"

#include <time.h>

static const struct made_run made[] = {
    {"20260101-000000-resnet20-0001", "resnet20", "none", NULL, 86, 272762, "cpu", 2.0, 0.1, false},
    {"20260102-000000-resnet20-0002", "resnet20-shift", "shift", NULL, 82, 35194, "cpu", 1.5, 0.1,
     false},
    {"20260103-000000-resnet20-0003", "resnet20-shuffle (4 groups)", "shuffle", "digits", 80, 40000,
     "cpu", 1.65, 0.1, false},
    {"20260104-000000-lenet-0004", "lenet", "none", "digits", NAN, 431080, NULL, 0, 0, false},
};
enum { RUNS = sizeof made / sizeof *made };
static struct run *runs[RUNS];

static bool fill(struct comparison *table)
{
    struct error error;
    *table = (struct comparison){0};
    for (size_t i = 0; i < RUNS; i++)
        if (!runs[i] || !compare_add_run(table, runs[i], &error))
            return false;
    return compare_complete(table, &error) && compare_add_settings(table, &error);
}

static bool order_is(const struct comparison *table, const char *order)
{
    char found[16] = "";
    for (size_t i = 0; i < table->count; i++) {
        const char *name = table->rows[i].name;
        found[i] = name[strlen(name) - 1];
    }
    if (strcmp(found, order) != 0)
        tap_note("%s", found);
    return strcmp(found, order) == 0;
}

static void test_names(void)
{
    struct comparison table;
    struct compare_figure figures[COMPARE_FIGURES], found;
    struct error error;
    char name[128];
    if (!tap_ok(fill(&table), "a table"))
        return;
    const size_t count = compare_list_figures(&table, figures);
    bool named = count > 6;
    for (size_t i = 0; i < count; i++)
        named =
            named &&
            compare_find_figure(&table, compare_figure_name(&table, &figures[i], name, sizeof name),
                                &found, &error) &&
            compare_figure_equal(&found, &figures[i]);
    tap_ok(named, "each of the %zu figures is found by its name", count);
    tap_ok(figures[0].kind == FIGURE_NETWORK && figures[1].kind == FIGURE_SETTING &&
               figures[count - 1].kind == FIGURE_BEST_TOP1,
           "settings that differ come first, the accuracy last");
    tap_ok(compare_find_figure(&table, "cpu", &found, &error) && found.kind == FIGURE_TIME &&
               compare_figure_value(&table, 1, &found) == 1.5 &&
               isnan(compare_figure_value(&table, 3, &found)),
           "a device's name means its time, which may be unknown");
    tap_ok(compare_find_figure(&table, "batch", &found, &error) &&
               compare_figure_value(&table, 0, &found) == 32,
           "a setting's key means its value");
    tap_ok(!compare_find_figure(&table, "energy tpu", &found, &error) && error.kind == ERROR_USAGE,
           "a device that is not there is refused");
    found = (struct compare_figure){.kind = FIGURE_SETTING, .field = config_find("data")};
    tap_ok(compare_figure_is_text(&found) && isnan(compare_figure_value(&table, 0, &found)) &&
               strcmp(compare_figure_text(&table, 3, &found, name, sizeof name), "digits") == 0,
           "a name is no number");
    compare_free(&table);
}

static void test_order(void)
{
    static const struct {
        const char *column, *order;
        bool reverse;
    } orders[] = {
        {"best_top1", "1234", false}, {"best_top1", "3214", true}, {"ms cpu", "2314", false},
        {"ms cpu", "1324", true},     {"data", "1234", false},     {"data", "3412", true},
        {"network", "4123", false},   {"network", "3214", true},   {"batch", "1234", true}};
    struct error error;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        struct comparison table;
        tap_ok(fill(&table) && compare_sort(&table, orders[i].column, orders[i].reverse, &error) &&
                   order_is(&table, orders[i].order),
               "sorted by %s%s, unknown values last, equal ones in their order", orders[i].column,
               orders[i].reverse ? ", reversed" : "");
        compare_free(&table);
    }
}

static bool is_dominated(const struct pareto_point *points, size_t count,
                         const struct pareto_point *point, bool high_x, bool high_y)
{
    for (size_t i = 0; i < count; i++) {
        const double dx = (points[i].x - point->x) * (high_x ? 1 : -1);
        const double dy = (points[i].y - point->y) * (high_y ? 1 : -1);
        if (dx >= 0 && dy >= 0 && (dx > 0 || dy > 0))
            return true;
    }
    return false;
}

/* Compares a front with the definition, on points of a small grid, so that many are equal. */
static bool front_is_right(unsigned seed, bool high_x, bool high_y)
{
    enum { POINTS = 60 };
    struct pareto_point points[POINTS];
    for (size_t i = 0; i < POINTS; i++) {
        seed = seed * 1103515245u + 12345u;
        points[i] = (struct pareto_point){seed >> 16 & 15, seed >> 24 & 15, i};
    }
    const size_t front = pareto_front(points, POINTS, high_x, high_y);
    bool right = front > 0, seen[POINTS] = {false};
    for (size_t i = 0; i < POINTS; i++) {
        right = right && !seen[points[i].row] &&
                is_dominated(points, POINTS, &points[i], high_x, high_y) == (i >= front);
        seen[points[i].row] = true;
    }
    for (size_t i = 1; i < front; i++)
        right = right && (points[i].x - points[i - 1].x) * (high_x ? -1 : 1) >= 0;
    return right;
}

static void test_front(void)
{
    bool right = true;
    for (unsigned i = 0; i < 400; i++)
        right = right && front_is_right(i + 1, i & 1, i & 2);
    tap_ok(right, "fronts contain the points that no other one dominates, the best x first");
    tap_ok(pareto_front(NULL, 0, true, true) == 0, "no points, no front");
}

static bool holds(const struct comparison *table, enum compare_format format, const char *part)
{
    struct text text = {0};
    compare_write(table, format, &text, NULL);
    bool found = text.data && !text.failed && strstr(text.data, part);
    if (!found)
        tap_note("%s", text.data ? text.data : "nothing");
    text_free(&text);
    return found;
}

static void test_front_of_table(void)
{
    struct comparison table;
    struct compare_figure x, y;
    struct compare_front front = {0};
    struct error error;
    if (!tap_ok(fill(&table) &&
                    compare_parse_front(&table, "parameters,best_top1", &x, &y, &error) &&
                    compare_find_front(&table, &x, &y, &front, &error),
                "the front of a table"))
        return;
    tap_ok(front.count == 2 && front.rows[0] == 1 && front.rows[1] == 0 && front.unknown == 1,
           "has the rows that none beats, and counts those without a figure");
    tap_ok(compare_front_has(&front, 0) && !compare_front_has(&front, 2), "a member is found");
    table.front = &front;
    tap_ok(holds(&table, COMPARE_TEXT,
                 "Pareto front of parameters and best_top1: 2, 1 (1 row lacks a figure)"),
           "text names its members");
    tap_ok(holds(&table, COMPARE_CSV, ",pareto\n"), "CSV has a column");
    tap_ok(holds(&table, COMPARE_JSON, "\"pareto\""), "JSON has a member");
    compare_front_free(&front);
    tap_ok(!compare_parse_front(&table, "top1", &x, &y, &error) &&
               !compare_parse_front(&table, "best_top1,ms,e_p", &x, &y, &error) &&
               !compare_parse_front(&table, "top1,", &x, &y, &error),
           "one name, three names and an empty name are refused");
    tap_ok(compare_parse_front(&table, "batch,best_top1", &x, &y, &error) &&
               !compare_find_front(&table, &x, &y, &front, &error) && error.kind == ERROR_USAGE,
           "of a setting it is not known what is better");
    compare_front_free(&front);
    compare_free(&table);
}

/* Returns whether the front of ms and accuracy has these rows, by number, of which so many pairs
 * are not comparable. */
static bool front_of_times_is(const char *rows, size_t undecided)
{
    char found[16] = "";
    struct comparison table;
    struct compare_figure x, y;
    struct compare_front front = {0};
    struct error error;
    const bool made_it = fill(&table) &&
                         compare_parse_front(&table, "ms,best_top1", &x, &y, &error) &&
                         compare_find_front(&table, &x, &y, &front, &error);
    for (size_t i = 0; i < front.count; i++)
        snprintf(found + i, sizeof found - i, "%zu", front.rows[i] + 1);
    const bool is = made_it && strcmp(found, rows) == 0 && front.undecided == undecided;
    if (!is)
        tap_note("%s, %zu pairs", found, front.undecided);
    compare_front_free(&front);
    compare_free(&table);
    return is;
}

/* Published times are of one table, so that their numbers order them; a published and a measured
 * time are not comparable, whatever their numbers. */
static void test_front_of_published_times(void)
{
    struct comparison table;
    struct compare_figure x, y;
    struct compare_front front = {0};
    struct error error;
    char name[64];
    if (!tap_ok(fill(&table) && compare_add_published(&table, &error) &&
                    compare_complete(&table, &error),
                "a table with published rows"))
        return;
    const size_t first = 0, device = table.device_count - 1;
    snprintf(name, sizeof name, "ms %s,best_top1", table.devices[device]);
    bool good = compare_parse_front(&table, name, &x, &y, &error) &&
                compare_find_front(&table, &x, &y, &front, &error);
    bool right = good && front.count > 0 && front.undecided == 0;
    for (size_t i = 0; right && i < table.count; i++)
        for (size_t k = 0; !table.rows[i].run && k < table.count; k++)
            right &= table.rows[k].run || !compare_front_has(&front, i) ||
                     !(compare_figure_value(&table, k, &x) < compare_figure_value(&table, i, &x) &&
                       compare_figure_value(&table, k, &y) > compare_figure_value(&table, i, &y));
    const size_t before = front.count;
    tap_ok(right, "%zu published rows are on their front, ordered by number", before);
    compare_front_free(&front);
    /* a run measured on a device of that name, faster and more accurate than all */
    struct measurement fast = {.on.threads = 1, .ms_per_image = {0.01, 0.01, 0.01, 0, 0}};
    snprintf(fast.on.device, sizeof fast.on.device, "%s", table.devices[device]);
    table.rows[first].figures.best_top1 = 99.9;
    good = measurements_place(&table.rows[first].ms, &fast, &error) &&
           compare_find_front(&table, &x, &y, &front, &error);
    tap_ok(good && front.count == before + 1 && front.undecided == before &&
               compare_front_has(&front, first),
           "a measured time dominates no published one: %zu rows, %zu pairs undecided", front.count,
           front.undecided);
    compare_front_free(&front);
    compare_free(&table);
}

/* Row 3 is slower than row 2 and less accurate. */
static void test_front_of_times(void)
{
    struct made_run alike = made[1];
    tap_ok(front_of_times_is("231", 3), "times of different moments call no row dominated");
    tap_ok(make_turns(&made[1], &made[2], 0) && front_of_times_is("21", 1),
           "turns do; one pair has taken none");
    tap_ok(make_turns(&made[1], &made[0], 0) && front_of_times_is("21", 0), "all are compared");
    alike.ms = made[0].ms;
    tap_ok(make_turns(&alike, &made[0], 0) && front_of_times_is("1", 0),
           "of rows that are not shown to differ in time the more accurate one dominates");
}

/* Returns the processor's seconds for writing a table of so many rows, the least of three times. */
static double seconds_of(size_t rows, enum compare_format format)
{
    struct comparison table = {0};
    struct error error;
    double least = INFINITY;
    bool added = true;
    for (size_t i = 0; added && i < rows; i++)
        added = compare_add_run(&table, runs[2], &error);
    for (int i = 0; added && i < 3; i++) {
        struct text text = {0};
        const clock_t begun = clock();
        compare_write(&table, format, &text, NULL);
        least = fmin(least, (double)(clock() - begun) / CLOCKS_PER_SEC);
        text_free(&text);
    }
    compare_free(&table);
    return added ? least : NAN;
}

/* A time that grew with the square of the rows would be sixteen times as long. No run took turns
 * yet. */
static void test_many_rows(void)
{
    static const enum compare_format formats[] = {COMPARE_TEXT, COMPARE_MARKDOWN, COMPARE_CSV};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const double few = seconds_of(1000, formats[i]), many = seconds_of(4000, formats[i]);
        tap_ok(many < 8 * few, "format %d: four times as many rows take %.3g times as long",
               (int)formats[i], many / few);
    }
}

/* A table may have many rows whose times do not differ; it names a few of them. */
static void test_many_alike(void)
{
    struct comparison many = {0};
    struct error error;
    char cell[640];
    bool added = true;
    added = make_turns(&made[0], &made[0], 0);
    for (size_t i = 0; i < 9; i++)
        added = added && compare_add_run(&many, runs[0], &error);
    added = added && compare_complete(&many, &error);
    const size_t column = compare_columns(&many) - 2; /* before the energy */
    tap_ok(added && strcmp(compare_cell(&many, 0, column, cell, sizeof cell),
                           "2 +- 0.1 ~2,3,4,5,6,7 and 2 more") == 0,
           "of many rows that do not differ six are named: %s", cell);
    tap_ok(holds(&many, COMPARE_CSV, ",2 3 4 5 6 7 8 9,"), "CSV names all");
    compare_free(&many);
}

/* Runs that took turns and were not measured by themselves: their newest turns have their times. */
static void test_times_of_turns(void)
{
    static struct made_run turned[] = {
        {"20260105-000000-lenet-0005", "lenet", "none", NULL, 90, 40000, NULL, 3.0, 0, false},
        {"20260106-000000-lenet-0006", "lenet-shift", "shift", NULL, 80, 20000, NULL, 2.5, 0,
         false},
        {"20260107-000000-lenet-0007", "lenet-dsc", "dsc", NULL, NAN, 30000, NULL, 4.0, 0, false},
    };
    struct run *three[3];
    struct comparison table = {0};
    struct compare_figure x, y;
    struct compare_front front = {0};
    struct compare_missing missing;
    struct error error;
    char cell[640];
    bool good = true;
    for (size_t i = 0; i < 3; i++)
        good = good && (three[i] = make_run(&turned[i]));
    for (size_t i = 0; i < 3; i++)
        turned[i].device = "cpu";
    good = good && make_turns(&turned[0], &turned[1], 0);
    turned[0].ms = 3.5; /* later it is slower */
    good = good && make_turns(&turned[2], &turned[0], 0);
    for (size_t i = 0; good && i < 3; i++)
        good = compare_add_run(&table, three[i], &error);
    if (!tap_ok(good, "runs that took turns and were not measured"))
        return;
    snprintf(table.rows[0].ms.turns[0].turns.on.created, 24, "2026-01-01T00:00:00Z");
    snprintf(table.rows[2].ms.turns[0].turns.on.created, 24, "2026-02-01T00:00:00Z");
    good = compare_complete(&table, &error) &&
           compare_parse_front(&table, "ms,best_top1", &x, &y, &error) &&
           compare_find_front(&table, &x, &y, &front, &error);
    tap_ok(good && compare_figure_value(&table, 0, &x) == 3.5 &&
               compare_figure_value(&table, 1, &x) == 2.5 &&
               compare_figure_value(&table, 2, &x) == 4.0,
           "have the times of their newest turns");
    tap_ok(front.count == 2 && front.unknown == 1, "the front has them, and lacks an accuracy");
    tap_ok(!compare_missing(&table, 0, 0, &missing) && compare_missing(&table, 2, 0, &missing) &&
               strcmp(missing.what, "accuracy") == 0,
           "no time is called missing");
    const size_t column = compare_columns(&table) - 1;
    tap_ok(strcmp(compare_cell(&table, 1, column, cell, sizeof cell), "2.5") == 0,
           "a cell has no interval: %s", cell);
    tap_ok(holds(&table, COMPARE_JSON, "\"in_turns\":true"), "JSON says how they were measured");
    compare_front_free(&front);
    compare_free(&table);
    for (size_t i = 0; i < 3; i++)
        run_free(three[i]);
}

TEST_CASE(compare_figures_test)
{
    bool written = make_home();
    for (size_t i = 0; written && i < RUNS; i++)
        written = (runs[i] = make_run(&made[i]));
    if (tap_ok(written, "runs to compare")) {
        test_names();
        test_order();
        test_front_of_table();
        test_many_rows();
        test_front_of_times();
        test_front_of_published_times();
        test_many_alike();
        test_times_of_turns();
    }
    test_front();
    for (size_t i = 0; i < RUNS; i++)
        run_free(runs[i]);
    remove_home();
    return tap_done();
}

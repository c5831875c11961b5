/* Groups of seeds: their statistics, the images that runs classified correctly, and the tests that
 * tell two rows of a comparison apart. */
#include "models/saved/correct_images.h"
#include "runs/history/seed_group.h"
#include "studies/compare/compare_significance.h"

#include "tap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

/* --- statistics --- */

static void test_statistics(void)
{
    static const double top1[] = {91.2, 91.5, 90.8, 91.9, 91.1};
    struct run_figures runs[6];
    struct seed_statistics statistics;
    for (size_t i = 0; i < 6; i++)
        runs[i] = run_figures_unknown();
    for (size_t i = 0; i < 5; i++)
        runs[i].best_top1 = top1[i];
    runs[0].loss = 0.5;
    runs[0].has_loss = true;
    runs[1].loss = INFINITY;
    tap_ok(seed_statistics_compute(runs, 6, &statistics, NULL), "statistics of six runs");
    const struct statistics *best = &statistics.figures[FIGURE_BEST_TOP1];
    tap_ok(statistics.counts[FIGURE_BEST_TOP1] == 5 && near(best->mean, 91.3) &&
               near(best->sd, 0.41833001326704117) && near(best->ci95, 0.51942531684178805),
           "a run without the figure does not count; the others as SciPy has them");
    tap_ok(statistics.counts[FIGURE_LOSS] == 1 && statistics.figures[FIGURE_LOSS].mean == 0.5 &&
               isnan(statistics.figures[FIGURE_LOSS].ci95),
           "a loss that is not finite does not count, and one value has no interval");
    struct run_figures means = run_figures_unknown();
    seed_statistics_take_means(&statistics, &means);
    tap_ok(statistics.counts[FIGURE_TOP5] == 0 && isnan(means.top5) && near(means.best_top1, 91.3),
           "a figure that no run has is unknown");
    tap_ok(seed_group_is_operand("a@seeds") && !seed_group_is_operand("@seeds") &&
               !seed_group_is_operand("a@best"),
           "operands that name a group");
}

/* --- correct images --- */

static bool write_data(const char *directory, const char *spec)
{
    char path[600];
    snprintf(path, sizeof path, "%s/data.json", directory);
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    fprintf(file, "{\"validation\":{\"spec\":\"%s\",\"images\":11,\"augment\":false}}\n", spec);
    return fclose(file) == 0;
}

static void test_correct_images(const char *directory)
{
    unsigned char first[2] = {0}, second[2] = {0};
    struct correct_images written = {0}, read, other = {0};
    struct error error;
    size_t a, b;
    char path[600];
    correct_images_set(first, 0);
    correct_images_set(first, 10);
    correct_images_set(second, 3);
    correct_images_set(second, 10);
    tap_ok(correct_images_take(&written, first, 11, 5, true, &error) &&
               correct_images_take(&written, second, 11, 10, false, &error) &&
               written.best.iteration == 5 && written.final.iteration == 10,
           "the best and the last validation are kept apart");
    tap_ok(write_data(directory, "x") && correct_images_write(&written, directory, &error) &&
               correct_images_read(&read, directory, &error) && read.images == 11 &&
               read.data == written.data && read.best.right == 2 && read.final.iteration == 10 &&
               memcmp(read.best.bits, first, 2) == 0 && memcmp(read.final.bits, second, 2) == 0,
           "they are read as they were written");
    correct_images_count(&read.best, &read.final, 11, &a, &b);
    tap_ok(a == 1 && b == 1, "one image each is right alone");
    correct_images_take(&other, first, 11, 5, true, &error);
    tap_ok(write_data(directory, "y") && correct_images_write(&other, directory, &error) &&
               other.data != written.data,
           "another validation set has another sum");
    correct_images_free(&read);
    snprintf(path, sizeof path, "%s/correct.json", directory);
    FILE *file = fopen(path, "r+");
    if (file) {
        fseek(file, 60, SEEK_SET);
        fputc('#', file);
        fclose(file);
    }
    tap_ok(file && !correct_images_read(&read, directory, &error) && !read.best.bits,
           "a damaged file is refused: %s", error.why);
    unlink(path);
    tap_ok(correct_images_read(&read, directory, &error) && read.images == 0,
           "a run without the file has none");
    correct_images_free(&written);
    correct_images_free(&other);
}

/* --- tests of two rows --- */

enum { IMAGES = 200 };

/* Fills a row of a single run that has images [from, to) right. */
static void fill_row(struct compare_row *row, size_t from, size_t to)
{
    unsigned char bits[IMAGES / 8] = {0};
    static const char some_run;
    for (size_t i = from; i < to; i++)
        correct_images_set(bits, i);
    *row = (struct compare_row){.run = (const void *)&some_run, .accuracy = "validation"};
    row->figures = run_figures_unknown();
    row->figures.best_top1 = 100.0 * (double)(to - from) / IMAGES;
    row->images = IMAGES;
    row->correct.data = 7;
    correct_images_take(&row->correct, bits, IMAGES, 1, true, NULL);
}

static void test_runs(void)
{
    struct compare_row rows[3];
    const struct comparison table = {.rows = rows, .count = 3};
    char text[400];
    double low, high;
    fill_row(&rows[0], 0, 150);
    fill_row(&rows[1], 40, 220 - 40);
    fill_row(&rows[2], 0, 147);
    const struct compare_test wide = compare_test_rows(&table, 0, 1);
    tap_ok(wide.kind == TEST_MCNEMAR_CHI_SQUARE && wide.alone[0] == 40 && wide.alone[1] == 30 &&
               wide.first == IMAGES && near(wide.statistic, 81.0 / 70) && !wide.differs,
           "40 and 30 images alone: %s", compare_test_text(&wide, text, sizeof text));
    const struct compare_test close = compare_test_rows(&table, 0, 2);
    tap_ok(close.kind == TEST_MCNEMAR_EXACT && close.alone[0] == 3 && close.p == 0.25 &&
               !close.differs && strstr(compare_test_text(&close, text, sizeof text), "exact"),
           "3 and 0 images alone are tested exactly: %s", text);
    tap_ok(compare_test_rows(&table, 1, 2).p == compare_test_rows(&table, 2, 1).p,
           "the order of the rows changes no p");
    /* SciPy: binomtest(150, 200).proportion_ci(method='wilson') */
    tap_ok(compare_wilson(&rows[0], &low, &high) && near(low, 68.56590168795417) &&
               near(high, 80.49183199318251),
           "Wilson's interval of 150 of 200: %.12g to %.12g", low, high);
    rows[2].correct.data = 8;
    tap_ok(compare_test_rows(&table, 0, 2).kind == TEST_NONE &&
               strstr(compare_test_rows(&table, 0, 2).reason, "validation sets"),
           "different validation sets are not tested");
    correct_images_free(&rows[2].correct);
    tap_ok(compare_test_rows(&table, 0, 2).kind == TEST_NONE, "nor is a run without images");
    rows[2].run = NULL;
    tap_ok(compare_test_rows(&table, 0, 2).kind == TEST_NONE, "nor is a published row");
    for (size_t i = 0; i < 3; i++)
        compare_row_free(&rows[i]);
}

/* Fills a row of a group of seeds. */
static void fill_group(struct compare_row *row, const double *top1, size_t count)
{
    struct run_figures figures[8];
    fill_row(row, 0, 100);
    for (size_t i = 0; i < count; i++) {
        figures[i] = run_figures_unknown();
        figures[i].best_top1 = top1[i];
    }
    seed_statistics_compute(figures, count, &row->seeds, NULL);
    row->figures = run_figures_unknown();
    seed_statistics_take_means(&row->seeds, &row->figures);
}

static void test_groups(void)
{
    static const double a[] = {91.2, 91.5, 90.8, 91.9, 91.1}, b[] = {92.0, 92.4, 91.7, 92.9, 92.3};
    struct compare_row rows[3];
    const struct comparison table = {.rows = rows, .count = 3};
    char text[400];
    double low, high;
    fill_group(&rows[0], a, 5);
    fill_group(&rows[1], b, 5);
    fill_row(&rows[2], 0, 100);
    const struct compare_test test = compare_test_rows(&table, 0, 1);
    tap_ok(test.kind == TEST_WELCH && test.differs && test.first == 5 && test.second == 5 &&
               near(test.statistic, -3.4914862437758876) &&
               near(test.freedom, 7.9563437926330201) && near(test.p, 0.0082511121045913509),
           "two groups differ: %s", compare_test_text(&test, text, sizeof text));
    tap_ok(compare_test_rows(&table, 0, 2).kind == TEST_NONE,
           "a group and a single run are not tested");
    tap_ok(!compare_wilson(&rows[0], &low, &high), "a group has no interval over images");
    compare_row_free(&rows[1]);
    fill_group(&rows[1], b, 1);
    tap_ok(compare_test_rows(&table, 0, 1).kind == TEST_NONE, "nor is a group of one seed");
    for (size_t i = 0; i < 3; i++)
        compare_row_free(&rows[i]);
}

TEST_CASE(seeds_test)
{
    char directory[] = "/tmp/tinca-seeds-XXXXXX", path[600];
    if (!mkdtemp(directory))
        return 99;
    test_statistics();
    test_correct_images(directory);
    test_runs();
    test_groups();
    snprintf(path, sizeof path, "%s/data.json", directory);
    unlink(path);
    rmdir(directory);
    return tap_done();
}

/* Charts: lines are where the numbers say, in their colours; texts keep their accents; SVG and PDF
 * files have the size of a figure; and what cannot be drawn is refused with a reason. */
#include "exchange/export/chart.h"
#include "exchange/export/internal.h"

#include "base/files/file.h"
#include "base/files/output_file.h"
#include "data/formats/image_file.h"
#include "runs/record/run_open.h"
#include "session_files.h"

#include <string.h>
#include <sys/stat.h>

/* --- texts --- */

enum { TEXT_SIDE = 60 };

static bool append_bytes(void *context, const void *bytes, size_t count)
{
    struct text *document = context;
    text_append_bytes(document, bytes, count);
    return !document->failed;
}

/* Draws `text` on a small PNG page and returns the rows of dark pixels: the first and the last. */
static bool text_rows(const struct canvas_module *draw, const char *text, size_t *first,
                      size_t *last)
{
    static const struct canvas_page page = {CANVAS_PNG, TEXT_SIDE, TEXT_SIDE, 1, "letter"};
    static const struct canvas_font font = {.size = 30};
    struct text document = {0};
    struct image image = {0};
    struct error error;
    const char *reason;
    struct canvas *canvas = draw->begin(&page, append_bytes, &document);
    if (!canvas)
        return false;
    draw->text(canvas, 15, 40, text, &font, false);
    bool read = draw->finish(canvas, &reason) == CANVAS_DONE;
    read = read && output_file_write(home_path("letter.png"), document.data, document.length,
                                     OUTPUT_BINARY, &error);
    text_free(&document);
    read = read && image_file_read(&image, home_path("letter.png"), 1, &error);
    *first = TEXT_SIDE;
    *last = 0;
    for (size_t i = 0; read && i < (size_t)TEXT_SIDE * TEXT_SIDE; i++)
        if (image.pixels[i] < 128) {
            *first = *first < i / TEXT_SIDE ? *first : i / TEXT_SIDE;
            *last = i / TEXT_SIDE;
        }
    image_free(&image);
    return read && *first <= *last;
}

static void test_texts(const struct canvas_module *draw)
{
    size_t first, last, accent, foot;
    tap_ok(text_rows(draw, "e", &first, &last) && text_rows(draw, "\xc3\xa9", &accent, &foot) &&
               accent + 3 < first && foot == last,
           "an e with an acute accent is higher than an e");
    tap_ok(text_rows(draw, "c", &first, &last) && text_rows(draw, "\xc3\xa7", &accent, &foot) &&
               accent == first && foot > last + 3,
           "a cedilla reaches below the line");
    struct text out = {0};
    sheet_append_utf8(&out, "a\xff\xc3\xa9\n");
    tap_ok(strcmp(out.data, "a?\xc3\xa9?") == 0,
           "bytes that are no character, and control characters, become question marks");
    text_free(&out);
}

static void test_module_refused(void)
{
    struct error error = {0};
    tap_ok(!canvas_load_from(home_path("none.so"), &error) && error.kind == ERROR_UNSUPPORTED &&
               strstr(error.why, "none.so"),
           "a module that is missing is named");
    write_text(home_path("broken.so"), "not a shared object");
    tap_ok(!canvas_load_from(home_path("broken.so"), &error) && error.kind == ERROR_UNSUPPORTED &&
               strstr(error.advice, "libcairo2"),
           "a module that cannot be loaded is an error that says what to install");
}

/* --- runs --- */

enum { POINTS = 400 };

/* A run whose loss falls from 2 to 0 in a straight line, while its means stay 1; validated twice
 * where `validated`. */
static struct run *make_run(const char *name, const char *data, int average_loss, bool validated,
                            bool empty)
{
    static char text[POINTS * 200];
    struct error error;
    char path[64];
    mkdir(home_path(name), 0700);
    snprintf(path, sizeof path, "%s/config.json", name);
    snprintf(text, sizeof text,
             "{\"format\":\"tinca-run\",\"version\":1,\"id\":\"%s\",\"created\":\"\",\"config\":"
             "{\"network\":\"lenet\",\"data\":\"%s\",\"batch\":8,\"iterations\":%d,"
             "\"average-loss\":%d}}",
             name, data, POINTS, average_loss);
    write_text(home_path(path), text);
    int at = snprintf(text, sizeof text,
                      "{\"event\":\"start\",\"network\":\"lenet\",\"technique\":\"none\","
                      "\"parameters\":1,\"flops\":1,\"images\":64,\"validation_images\":10,"
                      "\"classes\":10,\"threads\":2,\"iterations\":%d,\"epochs\":2}\n",
                      POINTS);
    for (int i = 1; i <= POINTS && !empty; i++) {
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "{\"iteration\":%d,\"epoch\":%.6f,\"loss\":%.6f,\"loss_caffe\":1,"
                       "\"loss_mean\":1,\"lr\":0.01,\"ms_per_image\":1,\"seconds\":%d,"
                       "\"memory_bytes\":1}\n",
                       i, i / 200.0, 2 - 2.0 * (i - 1) / (POINTS - 1), i);
        if (validated && i % 200 == 0)
            at += snprintf(text + at, sizeof text - (size_t)at,
                           "{\"event\":\"validation\",\"iteration\":%d,\"epoch\":%d,\"loss\":1,"
                           "\"top1\":%d,\"top5\":90,\"seconds\":%d}\n",
                           i, i / 200, i / 5, i);
    }
    snprintf(path, sizeof path, "%s/journal.jsonl", name);
    write_text(home_path(path), text);
    struct run *run = run_open(home_path(name), &error);
    if (!run)
        note_error(&error);
    return run;
}

enum { DENSE_POINTS = 24000, SPIKE = 12000 };

/* A run with dozens of iterations in each column of a chart: its loss alternates between 1 and 2,
 * but is 4 once and 0.2 once. */
static struct run *make_dense_run(void)
{
    struct error error;
    mkdir(home_path("dense"), 0700);
    write_text(
        home_path("dense/config.json"),
        "{\"format\":\"tinca-run\",\"version\":1,\"id\":\"dense\",\"created\":\"\",\"config\":{"
        "\"network\":\"lenet\",\"data\":\"digits\",\"batch\":8,\"iterations\":24000}}");
    FILE *file = fopen(home_path("dense/journal.jsonl"), "w");
    if (!file)
        return NULL;
    fputs("{\"event\":\"start\",\"network\":\"lenet\",\"technique\":\"none\",\"parameters\":1,"
          "\"flops\":1,\"images\":64,\"validation_images\":0,\"classes\":10,\"threads\":2,"
          "\"iterations\":24000,\"epochs\":2}\n",
          file);
    for (int i = 1; i <= DENSE_POINTS; i++)
        fprintf(file,
                "{\"iteration\":%d,\"epoch\":%.6f,\"loss\":%g,\"loss_caffe\":1,\"loss_mean\":1,"
                "\"lr\":0.01,\"ms_per_image\":1,\"seconds\":%d,\"memory_bytes\":1}\n",
                i, i / 12000.0,
                i == SPIKE       ? 4.0
                : i == SPIKE / 2 ? 0.2
                                 : 1.0 + i % 2,
                i);
    fclose(file);
    struct run *run = run_open(home_path("dense"), &error);
    if (!run)
        note_error(&error);
    return run;
}

static bool is_near(const uint8_t *pixel, const uint8_t rgb[3])
{
    for (int i = 0; i < 3; i++)
        if (abs(pixel[i] - rgb[i]) > 12)
            return false;
    return true;
}

/* Finds the rows between `top` and `bottom` that a colour reaches in a column of pixels. *high <
 * *low if it is not there. */
static void rows_of(const struct image *image, size_t x, size_t top, size_t bottom,
                    const uint8_t rgb[3], size_t *low, size_t *high)
{
    *low = image->height;
    *high = 0;
    for (size_t y = top; y < bottom; y++)
        if (is_near(image->pixels + (y * image->width + x) * 3, rgb)) {
            *low = y < *low ? y : *low;
            *high = y > *high ? y : *high;
        }
}

static bool write_chart(struct run *const *runs, size_t count,
                        const struct chart_settings *settings, const char *name)
{
    struct error error;
    const bool written = chart_write(runs, count, settings, home_path(name), &error);
    if (!written)
        note_error(&error);
    return written;
}

static bool read_chart(struct run *const *runs, size_t count, const struct chart_settings *settings,
                       struct image *image)
{
    struct error error;
    if (!write_chart(runs, count, settings, "chart.png"))
        return false;
    if (image_file_read(image, home_path("chart.png"), 3, &error))
        return true;
    note_error(&error);
    return false;
}

static void test_one_run(struct run *run)
{
    static const uint8_t smoothed[3] = {0, 114, 178}, validation[3] = {213, 94, 0},
                         white[3] = {255, 255, 255};
    const struct chart_settings settings = {.width = 960, .height = 600};
    struct image image = {0};
    size_t low, high, later_low, later_high;
    bool read = read_chart(&run, 1, &settings, &image);
    tap_ok(read && image.width == 960 && image.height == 600, "the chart has the size asked for");
    if (!read)
        return;
    tap_ok(is_near(image.pixels, white) && is_near(image.pixels + 3 * (960 * 600 - 1), white),
           "the paper is white");
    rows_of(&image, 250, 130, 340, smoothed, &low, &high);
    rows_of(&image, 650, 130, 340, smoothed, &later_low, &later_high);
    tap_ok(low <= high && high - low < 12 && later_low <= later_high && later_low > high + 50,
           "a loss that falls is a line that falls");
    rows_of(&image, 515, 130, 340, validation, &low, &high);
    tap_ok(low <= high, "the validation has its colour");
    image_free(&image);
}

/* Returns whether a blue line covers a part of the pixel; the grid is nearly grey. */
static bool is_bluish(const uint8_t *pixel)
{
    return pixel[2] > pixel[0] + 15;
}

/* Nothing of what many points ink is lost where a column's points are joined. */
static void test_dense_run(void)
{
    static const uint8_t raw[3] = {160, 190, 222};
    const struct chart_settings settings = {.width = 640, .height = 400};
    struct image image = {0};
    struct run *run = make_dense_run();
    size_t high = SIZE_MAX, low = 0, gaps = 0, columns = 0, top = 0, bottom = 0;
    const bool read = run && read_chart(&run, 1, &settings, &image);
    for (size_t x = 100; read && x < 600; x++) {
        size_t first, last;
        rows_of(&image, x, 85, 350, raw, &first, &last);
        top = x == 100 ? first : top;
        bottom = x == 100 ? last : bottom;
        columns += first <= last;
        gaps += first > top + 1 || last + 1 < bottom;
        for (size_t y = 85; y < 350; y++)
            if (is_bluish(image.pixels + (y * image.width + x) * 3)) {
                high = y < high ? y : high;
                low = y > low ? y : low;
            }
    }
    const size_t height = bottom - top;
    tap_ok(read && columns == 500 && gaps == 0 && height > 10,
           "a dense curve fills each column from its lowest to its highest value");
    tap_ok(read && high + 3 * height / 2 < top && low > bottom + height / 2,
           "and one value among dozens shows, above and below");
    image_free(&image);
    run_free(run);
}

/* Returns whether a chart in the test's folder contains a text. */
static bool chart_contains(const char *name, const char *text)
{
    struct error error;
    size_t size;
    char *document = file_read(home_path(name), (size_t)1 << 24, &size, &error);
    if (!document)
        note_error(&error);
    const bool found = document && memmem(document, size, text, strlen(text));
    if (document && !found)
        tap_note("%s: no %s", name, text);
    free(document);
    return found;
}

static void test_vectors(struct run *run)
{
    const struct chart_settings svg = {.format = CANVAS_SVG}, pdf = {.format = CANVAS_PDF};
    tap_ok(write_chart(&run, 1, &svg, "chart.svg") &&
               chart_contains("chart.svg", "width=\"480pt\" height=\"300pt\"") &&
               chart_contains("chart.svg", "<title>lenet on d\xc3\xadgitos &#38; mais</title>"),
           "an SVG chart has the size of a figure, and its title with accents");
    tap_ok(chart_contains("chart.svg", "rgb(0%,44.7") && chart_contains("chart.svg", "dasharray"),
           "its curves have their colours and dashes");
    tap_ok(write_chart(&run, 1, &pdf, "chart.pdf") && chart_contains("chart.pdf", "%PDF-1.") &&
               chart_contains("chart.pdf", "/Count 1\n") &&
               chart_contains("chart.pdf", "/MediaBox [ 0 0 480 300 ]"),
           "a PDF chart is one page of the size of a figure");
    tap_ok(chart_contains("chart.pdf", "/FontFile"), "it contains the font that it uses");
}

static void test_formats(void)
{
    tap_ok(chart_format_of("a.svg") == CANVAS_SVG && chart_format_of("b/c.pdf") == CANVAS_PDF &&
               chart_format_of("c.pdf/d") == CANVAS_PNG && chart_format_of("e.png") == CANVAS_PNG &&
               chart_format_of("-") == CANVAS_PNG,
           "the format follows the name");
}

static bool is_smoothed_as(const struct run *run, const char *words)
{
    char text[96];
    return strcmp(series_smoothing_words(run_series(run), text, sizeof text), words) == 0;
}

static void test_average_loss(struct run *run, const struct run *plain)
{
    static const uint8_t smoothed[3] = {0, 114, 178};
    const struct chart_settings settings = {.width = 1920, .height = 1200};
    struct image image = {0};
    size_t low, high, later_low, later_high;
    if (tap_ok(read_chart(&run, 1, &settings, &image), "a run with --average-loss 20 is drawn")) {
        rows_of(&image, 500, 260, 660, smoothed, &low, &high);
        rows_of(&image, 1300, 260, 660, smoothed, &later_low, &later_high);
        tap_ok(low <= high && low == later_low && high == later_high,
               "its smoothed loss is the mean of the last iterations, which stays where it is");
    }
    tap_ok(is_smoothed_as(run, "mean of the last 20 iterations") &&
               is_smoothed_as(plain, "exponential mean over 10 iterations + 2 % of those done"),
           "the words say which mean is drawn");
    image_free(&image);
}

static void test_several_runs(struct run *const *runs)
{
    static const uint8_t second[3] = {255, 0, 0};
    const struct chart_settings settings = {
        .width = 960, .height = 600, .x = CHART_EPOCH, .log_x = true, .log_y = true};
    struct image image = {0};
    size_t low = 1, high = 0;
    bool read = read_chart(runs, 2, &settings, &image);
    for (size_t x = 650; read && low > high && x < 680; x++) /* its line has gaps */
        rows_of(&image, x, 96, 560, second, &low, &high);
    tap_ok(read && low <= high, "each of several runs has a colour, on logarithmic axes too");
    image_free(&image);
}

static void test_refused(struct run *run, struct run *empty)
{
    struct error error;
    struct run *many[CHART_MAX_RUNS + 1];
    for (size_t i = 0; i <= CHART_MAX_RUNS; i++)
        many[i] = run;
    const struct chart_settings fine = {.width = 400, .height = 300};
    const struct chart_settings small = {.width = 400, .height = 30};
    const struct chart_settings least = {.width = 320, .height = 240};
    const char *path = home_path("refused.png");
    tap_ok(!chart_write(&empty, 1, &fine, path, &error) && error.kind == ERROR_INPUT,
           "a run without a point has no chart");
    tap_ok(!chart_write(many, CHART_MAX_RUNS + 1, &fine, path, &error) && error.kind == ERROR_USAGE,
           "too many runs are refused");
    tap_ok(!chart_write(many, CHART_MAX_RUNS, &least, path, &error) &&
               strstr(error.why, "no space for the curves"),
           "a chart too small for its legend is refused");
    tap_ok(chart_write(many, CHART_MAX_RUNS,
                       &(struct chart_settings){.height = 1600, .width = 1600}, path, &error),
           "as many as may be are drawn");
    tap_ok(!chart_write(&run, 1, &small, path, &error) && error.kind == ERROR_USAGE,
           "a chart too small for its texts is refused");
    tap_ok(!chart_write(&run, 1, &fine, home_path("nowhere/x.png"), &error) &&
               strstr(error.what, "nowhere"),
           "a folder that is not there is named");
}

static void test_charts(void)
{
    struct run *runs[2] = {make_run("falls", "digits", 1, true, false),
                           make_run("also", "digits", 1, false, false)};
    struct run *empty = make_run("empty", "digits", 1, false, true);
    struct run *averaged = make_run("averaged", "digits", 20, false, false);
    struct run *accents = make_run("accents", "folder:/d/d\xc3\xadgitos & mais", 1, true, false);
    if (tap_ok(runs[0] && runs[1] && empty && averaged && accents,
               "runs are read from their folders")) {
        test_one_run(runs[0]);
        test_dense_run();
        test_vectors(accents);
        test_average_loss(averaged, runs[0]);
        test_several_runs(runs);
        test_several_runs((struct run *[]){runs[0], averaged});
        test_refused(runs[0], empty);
    }
    run_free(runs[0]);
    run_free(runs[1]);
    run_free(empty);
    run_free(averaged);
    run_free(accents);
}

TEST_CASE(chart_test)
{
    struct error error;
    if (!tap_ok(make_home(), "a folder for the test"))
        return tap_done();
    test_formats();
    test_module_refused();
    const struct canvas_module *draw = canvas_load(&error);
    if (draw) {
        test_texts(draw);
        test_charts();
    } else
        tap_skip("%s", error.why);
    remove_home();
    return tap_done();
}

/* Pictures of curves: lines lie where the numbers say, letters are all there and all different, and
 * what cannot be drawn is said. */
#include "session/export/chart.h"
#include "session/export/raster.h"
#include "session/export/stroke_font.h"

#include "data/formats/image_file.h"
#include "session/record/run_open.h"
#include "session_files.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

static const struct colour white = {255, 255, 255}, black = {0, 0, 0};

/* --- lines --- */

/* How much black there is, in pixels. */
static double blackness(const struct raster *raster)
{
    double sum = 0;
    const size_t pixels = raster->image.width * raster->image.height;
    for (size_t i = 0; i < pixels; i++)
        sum += 1 - raster->image.pixels[3 * i] / 255.0;
    return sum;
}

static double line_blackness(double x0, double y0, double x1, double y1, double width)
{
    struct raster raster;
    struct error error;
    if (!raster_create(&raster, 200, 120, white, &error))
        return -1;
    raster_line(&raster, x0, y0, x1, y1, width, black);
    double sum = blackness(&raster);
    raster_free(&raster);
    return sum;
}

static bool near(double value, double wanted, double within)
{
    return fabs(value - wanted) <= within * wanted;
}

static void test_lines(void)
{
    const double pi = acos(-1);
    tap_ok(near(line_blackness(20, 60, 180, 60, 4), 160 * 4 + pi * 4, 0.02),
           "a level line covers its length times its width, and its round ends");
    tap_ok(near(line_blackness(60, 20, 60, 100, 4), 80 * 4 + pi * 4, 0.02), "an upright one too");
    tap_ok(near(line_blackness(20, 20, 180, 100, 3), hypot(160, 80) * 3 + pi * 2.25, 0.02),
           "a slanted one too");
    tap_ok(near(line_blackness(30, 100, 33, 20, 3), hypot(3, 80) * 3 + pi * 2.25, 0.02),
           "a steep one too");
    tap_ok(near(line_blackness(50, 50, 50, 50, 20), pi * 100, 0.02),
           "from a point to itself: a disc");
    tap_ok(near(line_blackness(-100, 60, 300, 60, 4), 200 * 4, 0.01), "what is outside is clipped");
    tap_ok(line_blackness(NAN, 60, 180, 60, 4) == 0 && line_blackness(20, INFINITY, 30, 3, 4) == 0,
           "what is no number draws nothing");
}

static void test_clip(void)
{
    struct raster raster;
    if (!tap_ok(raster_create(&raster, 100, 100, white, NULL), "a picture is made"))
        return;
    raster_clip(&raster, 20, 0, 40, 100);
    raster_line(&raster, 0, 50, 100, 50, 4, black);
    tap_ok(near(blackness(&raster), 20 * 4, 0.01), "a clip holds a line in");
    raster_clip_nothing(&raster);
    raster_line(&raster, 0, 80, 100, 80, 4, black);
    tap_ok(near(blackness(&raster), 20 * 4 + 100 * 4, 0.01), "until there is none");
    raster_free(&raster);
}

/* --- letters --- */

enum { GLYPH_SIDE = 48 };

static bool draw_letter(struct raster *raster, const char *text)
{
    if (!raster_create(raster, GLYPH_SIDE, GLYPH_SIDE, white, NULL))
        return false;
    stroke_font_draw(raster, 8, 36, 24, black, text);
    return true;
}

static bool same_letter(const char *a, const char *b)
{
    struct raster first, second;
    bool same =
        draw_letter(&first, a) && draw_letter(&second, b) &&
        memcmp(first.image.pixels, second.image.pixels, (size_t)GLYPH_SIDE * GLYPH_SIDE * 3) == 0;
    raster_free(&first);
    raster_free(&second);
    return same;
}

static void test_letters(void)
{
    int alike = 0;
    for (char a = ' '; a <= '~'; a++)
        for (char b = ' '; b < a; b++)
            if (same_letter((char[]){a, 0}, (char[]){b, 0}) && !(a == 'O' && b == '0')) {
                tap_note("'%c' looks like '%c'", a, b);
                alike++;
            }
    tap_ok(alike == 0, "all letters are told apart, but for O and 0");
    tap_ok(same_letter("\xc3\xa9", "e") && same_letter("\xc3\x87", "C"),
           "accented letters are drawn without their accents");
    tap_ok(same_letter("\xd0\x96", "\xe4\xb8\xad") && !same_letter("\xd0\x96", " "),
           "what there is no letter for is one box a character");
    tap_ok(near(stroke_font_width("mmmm", 30), 2 * stroke_font_width("mmmm", 15), 1e-9) &&
               stroke_font_width("mmmm", 30) > stroke_font_width("iiii", 30) &&
               stroke_font_width("", 30) == 0,
           "widths go with the height and the letters");
}

/* --- runs --- */

enum { POINTS = 400 };

/* A run whose loss falls from 2 to 0 in a straight line, while its means stay 1; validated twice
 * where `validated`. */
static struct run *make_run(const char *name, int average_loss, bool validated, bool empty)
{
    static char text[POINTS * 200];
    struct error error;
    char path[64];
    mkdir(home_path(name), 0700);
    snprintf(path, sizeof path, "%s/config.json", name);
    snprintf(text, sizeof text,
             "{\"format\":\"tinca-run\",\"version\":1,\"id\":\"%s\",\"created\":\"\",\"config\":"
             "{\"network\":\"lenet\",\"data\":\"digits\",\"batch\":8,\"iterations\":%d,"
             "\"average-loss\":%d}}",
             name, POINTS, average_loss);
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

/* The rows that a colour reaches in a column of pixels; *high < *low where it is not there. */
static void rows_of(const struct image *image, size_t x, const uint8_t rgb[3], size_t *low,
                    size_t *high)
{
    *low = image->height;
    *high = 0;
    for (size_t y = 0; y < image->height; y++)
        if (memcmp(image->pixels + (y * image->width + x) * 3, rgb, 3) == 0) {
            *low = y < *low ? y : *low;
            *high = y > *high ? y : *high;
        }
}

static bool read_chart(struct run *const *runs, size_t count, const struct chart_settings *settings,
                       struct image *image)
{
    struct error error;
    const char *path = home_path("chart.png");
    if (chart_write(runs, count, settings, path, &error) && image_file_read(image, path, 3, &error))
        return true;
    note_error(&error);
    return false;
}

static void test_one_run(struct run *run)
{
    static const uint8_t smoothed[3] = {0, 114, 178};
    const struct chart_settings settings = {.width = 900, .height = 600};
    struct image image = {0};
    size_t low, high, later_low, later_high;
    bool read = read_chart(&run, 1, &settings, &image);
    tap_ok(read && image.width == 900 && image.height == 600, "the picture has the size asked for");
    if (!read)
        return;
    rows_of(&image, 250, smoothed, &low, &high);
    rows_of(&image, 650, smoothed, &later_low, &later_high);
    tap_ok(low <= high && high - low < 12 && later_low <= later_high && later_low > high + 100,
           "a loss that falls is a line that falls");
    image_free(&image);
}

static bool is_smoothed_as(const struct run *run, const char *words)
{
    char text[96];
    return strcmp(series_smoothing_words(run_series(run), text, sizeof text), words) == 0;
}

static void test_average_loss(struct run *run, const struct run *plain)
{
    static const uint8_t smoothed[3] = {0, 114, 178};
    const struct chart_settings settings = {.width = 1800, .height = 1200};
    struct image image = {0};
    size_t low, high, later_low, later_high;
    if (tap_ok(read_chart(&run, 1, &settings, &image), "a run with --average-loss 20 is drawn")) {
        rows_of(&image, 500, smoothed, &low, &high);
        rows_of(&image, 1300, smoothed, &later_low, &later_high);
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
    static const uint8_t second[3] = {213, 94, 0};
    const struct chart_settings settings = {
        .width = 900, .height = 600, .x = CHART_EPOCH, .log_x = true, .log_y = true};
    struct image image = {0};
    size_t low, high;
    bool read = read_chart(runs, 2, &settings, &image);
    if (read)
        rows_of(&image, 650, second, &low, &high);
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
    const char *path = home_path("refused.png");
    tap_ok(!chart_write(&empty, 1, &fine, path, &error) && error.kind == ERROR_INPUT,
           "a run without a point has no picture");
    tap_ok(!chart_write(many, CHART_MAX_RUNS + 1, &fine, path, &error) && error.kind == ERROR_USAGE,
           "too many runs are refused");
    tap_ok(chart_write(many, CHART_MAX_RUNS, &fine, path, &error), "as many as may be are drawn");
    tap_ok(!chart_write(&run, 1, &small, path, &error) && error.kind == ERROR_USAGE,
           "a picture too small for its letters is refused");
    tap_ok(!chart_write(&run, 1, &fine, home_path("nowhere/x.png"), &error) &&
               strstr(error.what, "nowhere"),
           "a folder that is not there is named");
}

int main(void)
{
    if (!tap_ok(make_home(), "a folder for the test"))
        return tap_done();
    test_lines();
    test_clip();
    test_letters();
    struct run *runs[2] = {make_run("falls", 1, true, false), make_run("also", 1, false, false)};
    struct run *empty = make_run("empty", 1, false, true);
    struct run *averaged = make_run("averaged", 20, false, false);
    if (tap_ok(runs[0] && runs[1] && empty && averaged, "runs are read from their folders")) {
        test_one_run(runs[0]);
        test_average_loss(averaged, runs[0]);
        test_several_runs(runs);
        test_several_runs((struct run *[]){runs[0], averaged});
        test_refused(runs[0], empty);
    }
    run_free(runs[0]);
    run_free(runs[1]);
    run_free(empty);
    run_free(averaged);
    remove_home();
    return tap_done();
}

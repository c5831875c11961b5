/* Drawing of the run screen: the tabs, the newest finding, the view in front (views.c), the
 * run's values beside or below it, and the progress. A completed run is shown as its last snapshot.
 */
#include "ui/screens/run/internal.h"

#include "base/clock.h"
#include "base/language.h"
#include "base/text.h"
#include "runs/settings/config_paths.h"
#include "runs/settings/settings.h"
#include "runs/values/run_snapshot.h"
#include "ui/app/app.h"
#include "ui/app/other_runs.h"
#include "ui/plot/trace.h"
#include "ui/shared/form.h"
#include "ui/terminal/columns.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* --- the lines ---
 *
 * The lines of the run screen: losses, validation, speed, memory, settings and progress. Each
 * density of the layout has its own selection and order of lines. */

struct writer {
    struct run_line *lines;
    size_t count;
};

__attribute__((format(printf, 4, 5))) static void put(struct writer *writer, const char *label,
                                                      enum role role, const char *format, ...)
{
    va_list arguments;
    if (writer->count == RUN_LINES_MAX)
        return;
    struct run_line *line = &writer->lines[writer->count++];
    *line = (struct run_line){.label = gettext(label), .role = role};
    va_start(arguments, format);
    vsnprintf(line->value, sizeof line->value, format, arguments);
    va_end(arguments);
}

static void put_number(struct writer *writer, const char *label, enum role role, double value)
{
    if (isfinite(value))
        put(writer, label, role, "%.4g", value);
    else
        put(writer, label, role, "%s", isnan(value) ? "-" : TEXT_NUMBER(value, 4));
}

static void put_bytes(struct writer *writer, const char *label, uint64_t bytes)
{
    char text[24];
    put(writer, label, ROLE_TEXT, "%s", bytes ? text_bytes(bytes, text, sizeof text) : "-");
}

/* Writes an epoch such as "3.42"; "-" if an imported run does not give it. Returns `text`. */
static const char *epoch_text(double epoch, char *text, size_t size)
{
    snprintf(text, size, isnan(epoch) ? "-" : "%.2f", epoch);
    return text;
}

static const char *epochs_text(double epochs, char *text, size_t size)
{
    snprintf(text, size, isnan(epochs) ? "-" : "%.4g", epochs);
    return text;
}

/* Adds the learning rate; "-" until the run is prepared. */
static void put_rate(struct writer *writer, const char *label, const struct run_snapshot *now)
{
    char text[24];
    const double rate = now->learning_rate > 0 || now->iteration > 0 ? now->learning_rate : NAN;
    put(writer, label, ROLE_RATE, "%s", epochs_text(rate, text, sizeof text));
}

/* Adds the scale of the loss and the number of skipped steps of a run in fp16: in one line if
 * `both` names it, else in two. */
static void put_loss_scale(struct writer *writer, const char *both, const struct run_snapshot *now)
{
    const unsigned long long skipped = now->skipped_steps;
    const enum role role = now->loss_scale < 1 ? ROLE_BAD : ROLE_TEXT;
    if (!(now->loss_scale > 0))
        return;
    if (both) {
        put(writer, both, role, "%g, %llu", now->loss_scale, skipped);
        return;
    }
    put(writer, N_("scaled by"), role, "%g", now->loss_scale);
    put(writer, N_(" skipped"), ROLE_TEXT, ngettext("%llu step", "%llu steps", skipped), skipped);
}

/* Adds the epochs and iterations done, and of how many, if that is known (a watched run of another
 * program may not say); "-" until the run is prepared. */
static void put_progress(struct writer *writer, const struct run_snapshot *now)
{
    char epoch[24], epochs[24];
    if (now->iterations == 0 && now->iteration > 0) {
        put(writer, N_("epoch"), ROLE_TEXT, "%s", epoch_text(now->epoch, epoch, sizeof epoch));
        put(writer, N_("iteration"), ROLE_TEXT, "%llu", (unsigned long long)now->iteration);
        return;
    }
    if (now->iterations == 0) {
        put(writer, N_("epoch"), ROLE_TEXT, "-");
        put(writer, N_("iteration"), ROLE_TEXT, "-");
        return;
    }
    put(writer, N_("epoch"), ROLE_TEXT, _("%s of %s"), epoch_text(now->epoch, epoch, sizeof epoch),
        epochs_text(now->epochs, epochs, sizeof epochs));
    put(writer, N_("iteration"), ROLE_TEXT, _("%llu of %llu"), (unsigned long long)now->iteration,
        (unsigned long long)now->iterations);
}

static void put_images(struct writer *writer, double images_per_second)
{
    if (!(images_per_second > 0)) /* also NaN: an imported run does not give it */
        put(writer, N_("images/s"), ROLE_TEXT, "-");
    else
        put(writer, N_("images/s"), ROLE_TEXT, "%.0f", images_per_second);
}

static void put_speed(struct writer *writer, const char *label, double value)
{
    if (value > 0)
        put(writer, label, ROLE_TEXT, "%.*f", value < 10 ? 3 : value < 100 ? 2 : 1, value);
    else
        put(writer, label, ROLE_TEXT, "-");
}

/* Adds the energy of an image and the power, or why there is none in two words: the report has the
 * reason in full. */
static void put_energy(struct writer *writer, const struct run_snapshot *now)
{
    if (run_snapshot_has_energy(now)) {
        put(writer, N_("J/image"), ROLE_TEXT, "%.3g", run_snapshot_joules_per_image(now));
        put(writer, N_(" power"), ROLE_TEXT, "%.3g W", run_snapshot_watts(now));
    } else {
        put(writer, N_("J/image"), ROLE_FAINT, "%s", now->energy.unknown[0] ? _("not known") : "-");
    }
}

static void put_top1(struct writer *writer, const struct run_snapshot *now)
{
    const struct run_figures figures = run_figures_of(now, NULL);
    if (isfinite(figures.top1))
        put(writer, N_("top-1"), ROLE_VALIDATION, _("%.2f %% best %.2f"), figures.top1,
            figures.best_top1);
    else
        put(writer, N_("top-1"), ROLE_FAINT, "-");
}

/* Adds what the best model has reached on the test set, if the run has one. */
static void put_test(struct writer *writer, const struct run_display *display)
{
    const struct run_test *test = &display->now.test;
    const bool waits =
        data_settings(display->config).test[0] && !run_status_is_over(display->now.status);
    if (test->images == 0 && !waits)
        return;
    if (display->now.testing && display->now.validation.of > 0)
        put(writer, N_("test"), ROLE_VALIDATION, _("%.0f %% seen"),
            100.0 * (double)display->now.validation.done / (double)display->now.validation.of);
    else if (test->images == 0)
        put(writer, N_("test"), ROLE_FAINT, "%s", _("at the end"));
    else if (isfinite(test->top1))
        put(writer, N_("test"), ROLE_VALIDATION, _("top-1 %.2f %%"), test->top1);
    else if (isfinite(test->pixel_accuracy))
        put(writer, N_("test"), ROLE_VALIDATION, _("%.2f %% within %zu"), test->pixel_accuracy,
            measurement_settings(display->config).tolerance);
    else
        put_number(writer, N_("test"), ROLE_VALIDATION, test->loss);
}

/* Returns whether a run validates now, and not on the test set. */
static bool is_validating(const struct run_snapshot *now)
{
    return now->status == RUN_VALIDATING && now->validation.of > 0 && !now->testing;
}

/* Returns whether a run that has not validated yet is going to. */
static bool will_validate(const struct run_display *display)
{
    return data_settings(display->config).validate[0] && !run_status_is_over(display->now.status);
}

static void put_validation(struct writer *writer, const struct run_display *display)
{
    const struct run_snapshot *now = &display->now;
    if (is_validating(now))
        put(writer, N_("validation"), ROLE_VALIDATION, _("%.0f %% seen"),
            100.0 * (double)now->validation.done / (double)now->validation.of);
    else if (now->validation.known)
        put_number(writer, N_("validation"), ROLE_VALIDATION,
                   run_figures_of(now, NULL).validation_loss);
    else
        put(writer, N_("validation"), ROLE_FAINT, "%s",
            will_validate(display) ? _("later") : _("none"));
}

/* Returns whether two networks are trained against each other; a run shows that by its losses. */
static bool is_adversarial(const struct run_snapshot *now)
{
    return now->iteration > 0 && isfinite(now->loss_discriminator);
}

static void put_pixels(struct writer *writer, const char *label, const struct run_display *display)
{
    const struct run_snapshot *now = &display->now;
    if (is_validating(now))
        put(writer, label, ROLE_VALIDATION, _("%.0f %% seen"),
            100.0 * (double)now->validation.done / (double)now->validation.of);
    else if (now->validation.known && isfinite(now->validation.pixel_accuracy))
        put(writer, label, ROLE_VALIDATION, _("%.2f %% within %zu"), now->validation.pixel_accuracy,
            measurement_settings(display->config).tolerance);
    else
        put(writer, label, ROLE_FAINT, "%s", will_validate(display) ? _("later") : "-");
}

static void put_adversarial(struct writer *writer, const struct run_display *display,
                            const char *generator, const char *discriminator, const char *pixels)
{
    const struct run_snapshot *now = &display->now;
    put_number(writer, generator, ROLE_SMOOTHED, (double)now->loss);
    put_number(writer, discriminator, ROLE_SERIES + 1, (double)now->loss_discriminator);
    put_number(writer, "L1", ROLE_SERIES + 2, (double)now->loss_l1);
    put_pixels(writer, pixels, display);
}

/* Returns the forecast for the whole process, to compare with the measured value. Old runs have
 * only the network's forecast; it returns that for them. */
static uint64_t forecast_bytes(const struct run_display *display)
{
    if (!display->facts)
        return 0;
    return display->facts->memory_peak ? display->facts->memory_peak
                                       : display->facts->forecast.total;
}

/* Adds the loss: NaN of a run that diverged is a value, unlike that of an imported log without
 * losses. */
static void put_loss(struct writer *writer, const struct run_display *display)
{
    const struct run_figures figures = run_figures_of(&display->now, NULL);
    const bool imported = display->facts && display->facts->imported[0];
    if (isnan(figures.loss) && figures.has_loss && !imported)
        put(writer, N_("loss"), ROLE_BAD, "%s", TEXT_NUMBER(figures.loss, 4));
    else
        put_number(writer, N_("loss"), ROLE_STRONG, figures.loss);
}

static void put_class_losses(struct writer *writer, const struct run_display *display)
{
    put_loss(writer, display);
    put_number(writer, N_("smoothed"), ROLE_SMOOTHED, display->smoothed);
    put_validation(writer, display);
    put_top1(writer, &display->now);
}

static void grid_normal(struct writer *writer, const struct run_display *display)
{
    const struct run_snapshot *now = &display->now, *steady = &display->steady;
    if (is_adversarial(now))
        put_adversarial(writer, display, N_("gen. loss"), N_("disc. loss"), N_("pixel acc."));
    else
        put_class_losses(writer, display);
    put_progress(writer, now);
    put_rate(writer, N_("learning rate"), now);
    if (now->loss_scale > 0)
        put_loss_scale(writer, N_("scale, skips"), now);
    else
        put_images(writer, steady->images_per_second);
    put_speed(writer, N_("ms/image"), steady->ms_per_image_now);
    put_speed(writer, N_(" median"), steady->ms_per_image_median);
    put_bytes(writer, N_("memory"), steady->memory_measured);
    put_bytes(writer, N_(" forecast"), forecast_bytes(display));
}

static void small_losses(struct writer *writer, const struct run_display *display)
{
    const struct run_snapshot *now = &display->now;
    put_loss(writer, display);
    put_number(writer, N_("smoothed"), ROLE_SMOOTHED, display->smoothed);
    if (now->validation.known)
        put(writer, N_("top-1"), ROLE_VALIDATION, "%.2f %%", run_figures_of(now, NULL).top1);
    else
        put_rate(writer, N_("rate"), now);
    put_bytes(writer, N_("memory"), display->steady.memory_measured);
}

static void grid_small(struct writer *writer, const struct run_display *display)
{
    const struct run_snapshot *now = &display->now, *steady = &display->steady;
    char epoch[24], epochs[24];
    if (is_adversarial(now))
        put_adversarial(writer, display, N_("gen. loss"), N_("disc.loss"), N_("pixels"));
    else
        small_losses(writer, display);
    if (now->iterations == 0 && now->iteration > 0)
        put(writer, N_("epoch"), ROLE_TEXT, "%s", epoch_text(now->epoch, epoch, sizeof epoch));
    else if (now->iterations > 0)
        put(writer, N_("epoch"), ROLE_TEXT, "%s/%s", epoch_text(now->epoch, epoch, sizeof epoch),
            epochs_text(now->epochs, epochs, sizeof epochs));
    else
        put(writer, N_("epoch"), ROLE_TEXT, "-");
    put(writer, N_("iteration"), ROLE_TEXT, "%" PRIu64, now->iteration);
    put_speed(writer, N_("ms/image"), steady->ms_per_image_now);
    put_images(writer, steady->images_per_second);
}

static void tiny(struct writer *writer, const struct run_display *display)
{
    const struct run_snapshot *now = &display->now, *steady = &display->steady;
    char epoch[24];
    put_loss(writer, display);
    put_speed(writer, N_("ms/image"), steady->ms_per_image_now);
    put(writer, N_("epoch"), ROLE_TEXT, "%s", epoch_text(now->epoch, epoch, sizeof epoch));
    put(writer, N_("iteration"), ROLE_TEXT, "%" PRIu64, now->iteration);
    put_bytes(writer, N_("memory"), steady->memory_measured);
}

static void panel_losses(struct writer *writer, const struct run_display *display)
{
    const struct run_snapshot *now = &display->now;
    put_loss(writer, display);
    put_number(writer, N_("smoothed"), ROLE_SMOOTHED, display->smoothed);
    if (measurement_settings(display->config).average_loss > 1 || now->loss_caffe < 0) {
        put_number(writer, N_("exact mean"), ROLE_TEXT, now->loss_mean);
        put_number(writer, N_("Caffe's mean"), now->loss_caffe < 0 ? ROLE_BAD : ROLE_TEXT,
                   (double)now->loss_caffe);
    }
    put_validation(writer, display);
    put_top1(writer, now);
}

/* Adds the iteration of the last checkpoint and the share of time that checkpoints take. */
static void put_checkpoint(struct writer *writer, const struct run_snapshot *now)
{
    if (now->checkpoint.count == 0)
        return;
    put(writer, N_("checkpoint"), ROLE_TEXT, _("at %llu"),
        (unsigned long long)now->checkpoint.iteration);
    if (now->elapsed_seconds > 0)
        put(writer, N_(" their cost"), ROLE_TEXT, "%.2g %%",
            100 * now->checkpoint.seconds / now->elapsed_seconds);
}

static void panel_progress(struct writer *writer, const struct run_display *display)
{
    const struct run_snapshot *now = &display->now, *steady = &display->steady;
    char text[48];
    put(writer, N_("Loss"), ROLE_HEADING, "%s", "");
    if (is_adversarial(now))
        put_adversarial(writer, display, N_("generator"), N_("discriminator"), N_("pixels right"));
    else
        panel_losses(writer, display);
    put_test(writer, display);
    put_rate(writer, N_("learning rate"), now);
    put_loss_scale(writer, NULL, now);
    put(writer, N_("Progress"), ROLE_HEADING, "%s", "");
    put_progress(writer, now);
    put_checkpoint(writer, now);
    put(writer, N_("Speed"), ROLE_HEADING, "%s", "");
    put_speed(writer, N_("ms/image"), steady->ms_per_image_now);
    put_speed(writer, N_(" median"), steady->ms_per_image_median);
    put_images(writer, steady->images_per_second);
    put(writer, N_("data waited"), ROLE_TEXT, "%s",
        now->iteration > 0 ? text_duration(steady->feed_wait_seconds, text, sizeof text) : "-");
    put_energy(writer, steady);
    put(writer, N_("Memory"), ROLE_HEADING, "%s", "");
    put_bytes(writer, N_("memory"), steady->memory_measured);
    put_bytes(writer, N_(" forecast"), forecast_bytes(display));
}

/* Adds a setting; "-" if an imported run's log does not give it. */
static void put_setting(struct writer *writer, const char *label, const char *key,
                        const struct run_display *display)
{
    char value[64];
    const char *imported = display->facts ? display->facts->imported : "";
    const bool known = config_is_known(display->config, imported, key);
    put(writer, label, ROLE_TEXT, "%s",
        known ? config_get(display->config, key, value, sizeof value) : "-");
}

static void put_fact(struct writer *writer, const char *label, size_t count)
{
    char text[64];
    put(writer, label, ROLE_TEXT, "%s", count ? text_count(count, text, sizeof text) : "-");
}

static void panel_run(struct writer *writer, const struct run_display *display)
{
    char text[512];
    const struct run_config *config = display->config;
    put(writer, N_("Run"), ROLE_HEADING, "%s", "");
    put(writer, N_("network"), ROLE_TEXT, "%.63s",
        config_short_value(KEY(network), network_settings(config).network, text, sizeof text));
    put_setting(writer, N_("technique"), KEY(technique), display);
    if (display->facts)
        put_fact(writer, N_("parameters"), display->facts->parameters);
    put(writer, N_("data"), ROLE_TEXT, "%.63s",
        config_short_value(KEY(data), data_settings(config).data, text, sizeof text));
    if (display->facts)
        put_fact(writer, N_("images"), display->facts->images);
    put_setting(writer, N_("batch"), KEY(batch), display);
    put(writer, N_("device"), ROLE_TEXT, "%s", machine_settings(config).device);
    put_setting(writer, N_("solver"), KEY(solver), display);
    put_setting(writer, N_("schedule"), KEY(schedule), display);
    put_setting(writer, N_("seed"), KEY(seed), display);
}

/* Fills in `lines` (RUN_LINES_MAX of them) for a density and returns their number. DENSITY_NORMAL
 * and DENSITY_SMALL give a grid of RUN_GRID_ROWS rows, column by column. */
static size_t run_text_lines(const struct run_display *display, enum density density,
                             struct run_line *lines)
{
    struct writer writer = {lines, 0};
    switch (density) {
    case DENSITY_TINY:
        tiny(&writer, display);
        break;
    case DENSITY_SMALL:
        grid_small(&writer, display);
        break;
    case DENSITY_NORMAL:
        grid_normal(&writer, display);
        break;
    case DENSITY_PANEL:
        panel_progress(&writer, display);
        panel_run(&writer, display);
        break;
    }
    return writer.count;
}

/* Returns the completed part of the run, 0..1. */
static double run_text_fraction(const struct run_snapshot *snapshot)
{
    if (snapshot->iterations == 0)
        return 0;
    return fmin(1, (double)snapshot->iteration / (double)snapshot->iterations);
}

/* Appends the accuracy on the test set, which a small terminal has no other place for. */
static void append_test(const struct run_test *test, int columns, char *text, size_t size)
{
    const double accuracy = isfinite(test->top1) ? test->top1 : test->pixel_accuracy;
    const size_t length = strlen(text);
    if (test->images > 0 && isfinite(accuracy) && columns >= 60)
        snprintf(text + length, size - length, _(", test %.2f %%"), accuracy);
}

/* Writes "34.2 %  1:23 gone, 2:41 to go", shorter if it has more than `columns` columns. Returns
 * `text`. */
static char *run_text_progress(const struct run_display *display, int columns, char *text,
                               size_t size)
{
    char gone[32], left[32];
    double percent = 100 * run_text_fraction(&display->now);
    const bool over = run_status_is_over(display->now.status),
               known = display->steady.eta_seconds >= 0;
    if (over)
        text_duration(display->now.elapsed_seconds, gone, sizeof gone);
    else
        text_whole_duration(display->steady.elapsed_seconds, gone, sizeof gone);
    text_whole_duration(display->steady.eta_seconds, left, sizeof left);
    if (display->now.status == RUN_REFUSED) /* it never began */
        snprintf(text, size, "%s", gettext(run_snapshot_word(&display->now)));
    else if (over) {
        snprintf(text, size, _("%.0f %%  %s after %s"), percent,
                 gettext(run_snapshot_word(&display->now)), gone);
        append_test(&display->now.test, columns, text, size);
    } else if (display->now.iterations == 0 && display->now.iteration > 0) /* no end is known */
        snprintf(text, size, _("%s elapsed"), gone);
    else if (columns < 50)
        snprintf(text, size, "%.0f %% %s", percent, known ? left : "");
    else if (known)
        snprintf(text, size, _("%.0f %%  %s elapsed, %s left"), percent, gone, left);
    else
        snprintf(text, size, _("%.0f %%  %s elapsed"), percent, gone);
    return text;
}

static struct run_display display_of(struct app *app, const struct run_entry *entry)
{
    struct run_model *view = run_model(app);
    struct run_display display = {
        .config = &entry->config, .now = entry->snapshot, .smoothed = NAN};
    if (entry->run && entry->snapshot.status != RUN_PREPARING)
        display.facts = run_facts(entry->run);
    if (entry->run && view->curves.series == run_series(entry->run))
        display.smoothed = curves_newest(&view->curves, TRACE_SMOOTHED);
    if (view->steady_since == 0 || clock_seconds(view->steady_since, clock_nanoseconds()) >= 1 ||
        view->steady.status != entry->snapshot.status) {
        view->steady = entry->snapshot;
        view->steady_since = clock_nanoseconds();
    }
    display.steady = view->steady;
    return display;
}

/* Draws the lines in columns of RUN_GRID_ROWS. A wide grid has three columns: the middle one has
 * the longest values, the last one the shortest. */
static void draw_grid(struct app *app, struct rect area, const struct run_line *lines, size_t count)
{
    static const int starts[] = {1, 31, 61}, labels[] = {11, 14, 10};
    bool wide = count > 2 * RUN_GRID_ROWS;
    for (size_t i = 0; i < count; i++) {
        int cell = (int)(i / RUN_GRID_ROWS), row = (int)(i % RUN_GRID_ROWS);
        int start = wide ? starts[cell] * area.columns / 80 : cell * area.columns / 2;
        int end = wide && cell < 2 ? starts[cell + 1] * area.columns / 80 - 1
                  : wide           ? area.columns
                                   : (cell + 1) * area.columns / 2 - 1;
        struct rect box = {area.row, area.column + start, area.rows, end - start};
        draw_text(&app->canvas, box, row, 0, ROLE_FAINT, lines[i].label);
        draw_fitted_value(&app->canvas, box, row, wide ? labels[cell] : 10, lines[i].role,
                          lines[i].value);
    }
}

static void draw_flow(struct app *app, struct rect area, const struct run_line *lines, size_t count)
{
    int row = 0, column = 0;
    for (size_t i = 0; i < count; i++) {
        int width = (int)(columns_of(lines[i].label) + 1 + columns_of(lines[i].value));
        if (column > 0 && column + width > area.columns) {
            row++;
            column = 0;
        }
        column = draw_text(&app->canvas, area, row, column, ROLE_FAINT, lines[i].label) + 1;
        column =
            draw_fitted_value(&app->canvas, area, row, column, lines[i].role, lines[i].value) + 2;
    }
}

static void draw_panel(struct app *app, struct rect area, const struct run_line *lines,
                       size_t count)
{
    int headings = 0, row = 0;
    for (size_t i = 0; i < count; i++)
        headings += !lines[i].value[0] && lines[i].role == ROLE_HEADING;
    bool airy = (int)count + headings <= area.rows;
    for (size_t i = 0; i < count; i++, row++) {
        bool heading = lines[i].role == ROLE_HEADING;
        if (heading && airy && row > 0)
            row++;
        draw_text(&app->canvas, area, row, heading ? 0 : 1, heading ? ROLE_HEADING : ROLE_FAINT,
                  lines[i].label);
        draw_fitted_value(&app->canvas, area, row, 15, lines[i].role, lines[i].value);
    }
}

static void draw_facts(struct app *app, const struct run_layout *layout,
                       const struct run_display *display)
{
    struct run_line lines[RUN_LINES_MAX];
    size_t count = run_text_lines(display, layout->density, lines);
    if (layout->density == DENSITY_PANEL)
        draw_panel(app, layout->facts, lines, count);
    else if (layout->density == DENSITY_TINY)
        draw_flow(app, layout->facts, lines, count);
    else
        draw_grid(app, layout->facts, lines, count);
}

static void draw_progress(struct app *app, struct rect area, const struct run_display *display)
{
    char text[96];
    if (rect_is_empty(area))
        return;
    run_text_progress(display, area.columns, text, sizeof text);
    int width = area.columns - (int)columns_of(text) - 3;
    if (width > 8)
        draw_gauge(&app->canvas, area, 0, 1, width, run_text_fraction(&display->now), ROLE_GAUGE);
    draw_right(&app->canvas, area, 0, ROLE_TEXT, text);
}

static void draw_failure(struct app *app, struct rect area, const struct error *error, bool refused)
{
    char text[1100];
    struct rect inside = {area.row + 1, area.column + 2, area.rows - 1, area.columns - 4};
    int row =
        draw_wrapped(&app->canvas, inside, 0, ROLE_BAD,
                     refused ? _("! This run could not begin.") : _("! This run could not go on."));
    const struct error shown = setting_error(error);
    snprintf(text, sizeof text, "%s: %s", shown.what, shown.why);
    row = draw_wrapped(&app->canvas, inside, row, ROLE_TEXT, text);
    if (shown.advice[0])
        row = draw_wrapped(&app->canvas, inside, row + 1, ROLE_STRONG, shown.advice);
    draw_wrapped(&app->canvas, inside, row + 1, ROLE_FAINT, _("n goes to the form to change it."));
}

/* Returns why the run has no values yet; NULL: it has begun. */
static const char *waiting_text(const struct run_entry *entry, char *text, size_t size)
{
    if (!entry->run && entry->queue.waits_for[0])
        return run_entry_status_text(entry, text, size);
    if (!entry->run)
        return _("It waits for the run before it to end.");
    return entry->snapshot.status == RUN_PREPARING
               ? _("Opening the data and drawing the weights ...")
               : NULL;
}

static void draw_view(struct app *app, struct run_entry *entry, const struct view *view,
                      const struct run_layout *layout, const struct run_display *display)
{
    const struct run_snapshot *now = &entry->snapshot;
    char status[120];
    const char *waiting = waiting_text(entry, status, sizeof status);
    if (rect_is_empty(layout->view))
        return;
    if (entry->refused)
        draw_failure(app, layout->view, &entry->error, true);
    else if (waiting)
        draw_text(&app->canvas, layout->view, 1, 2, ROLE_FAINT, waiting);
    else if ((now->status == RUN_FAILED || now->status == RUN_REFUSED) && now->iteration == 0)
        draw_failure(app, layout->view, &now->error, now->status == RUN_REFUSED);
    else
        view->draw(app, entry, layout, display);
}

/* Draws the newest finding, and how many there are. */
static void draw_finding(struct app *app, const struct run_entry *entry, struct rect area)
{
    struct finding finding;
    const size_t count = entry->snapshot.finding_count;
    char text[160], more[48] = "";
    run_finding(entry->run, count - 1, &finding);
    const char *kind = finding_kind_words(finding.kind);
    if (isnan(finding.epoch))
        snprintf(text, sizeof text, _("! %s from iteration %llu"), kind,
                 (unsigned long long)finding.iteration);
    else
        snprintf(text, sizeof text, _("! %s from epoch %.2f (iteration %llu)"), kind, finding.epoch,
                 (unsigned long long)finding.iteration);
    if (count > 1)
        snprintf(more, sizeof more, _("  (newest of %zu: %zu lists them)"), count,
                 views_digit(&view_findings));
    int column = 1;
    if ((int)columns_of(text) < area.columns)
        column = draw_text(&app->canvas, area, 0, column, ROLE_BAD, text);
    else
        column = draw_format(&app->canvas, area, 0, column, ROLE_BAD, "! %s", kind);
    if (column + (int)columns_of(more) <= area.columns)
        draw_text(&app->canvas, area, 0, column, ROLE_FAINT, more);
    targets_add(&app->canvas.targets, area, '0' + (int)views_digit(&view_findings), 1);
}

/* Takes the line of the newest finding from the top of the view, unless that view lists all
 * findings or has no row to spare. */
static struct rect take_finding_line(const struct run_entry *entry, const struct view *view,
                                     struct run_layout *layout)
{
    enum { LEAST_VIEW_ROWS = 3 };
    struct rect line = {layout->view.row, layout->view.column, 1, layout->view.columns};
    if (!entry->run || entry->snapshot.finding_count == 0 || view == &view_findings ||
        layout->view.rows <= LEAST_VIEW_ROWS)
        return (struct rect){0};
    layout->view.row++;
    layout->view.rows--;
    return line;
}

/* Enlarges the area of every view but Curves: by the rows of the learning-rate panel and, on a
 * small screen, by the rows of the run's values if the view covers them. */
static void enlarge_view(struct run_layout *layout, const struct view *view)
{
    if (view == &view_curves)
        return;
    if (!rect_is_empty(layout->rate))
        layout->view.rows = layout->rate.row + layout->rate.rows - layout->view.row;
    layout->rate.rows = 0;
    if (view->covers_figures && layout->density < DENSITY_NORMAL) {
        layout->view.rows += layout->facts.rows;
        layout->facts.rows = 0;
    }
}

/* --- the list of curves --- */

enum { TRACE_LIST_COLUMNS = 38 };

static void draw_trace_item(struct app *app, const struct series *series, struct rect line,
                            enum trace trace, bool selected)
{
    bool adversarial = trace_is_adversarial(series),
         on = run_model(app)->choice.chosen & TRACE_BIT(trace);
    enum role role = selected ? ROLE_FOCUS : ROLE_TEXT;
    if (selected)
        draw_fill(&app->canvas, line, ROLE_FOCUS);
    draw_text(&app->canvas, line, 0, 0, role, selected ? ">" : " ");
    draw_text(&app->canvas, line, 0, 1, role, on ? "[x]" : "[ ]");
    draw_format(&app->canvas, line, 0, 5, selected ? ROLE_FOCUS : trace_role(trace), "%c",
                trace_letter(trace, adversarial));
    int column = draw_text(&app->canvas, line, 0, 7, role, trace_name(trace, adversarial));
    if (!trace_has_values(series, trace) &&
        column + 2 + (int)columns_of(_("none yet")) <= line.columns)
        draw_right(&app->canvas, line, 0, selected ? ROLE_FOCUS : ROLE_FAINT, _("none yet"));
    if (selected)
        draw_cursor(&app->canvas, line, 0, 1);
}

/* Draws the list in which curves are switched on and off. It covers only the right part of the
 * screen, so that the effect of switching a curve is visible. */
static void draw_trace_list(struct app *app, const struct run_entry *entry, struct rect body)
{
    struct trace_choice *choice = &run_model(app)->choice;
    const struct series *series = run_series(entry->run);
    enum trace items[TRACES];
    size_t count = trace_list_items(series, items);
    int rows = (int)count + 2 < body.rows ? (int)count + 2 : body.rows;
    int columns = TRACE_LIST_COLUMNS < body.columns ? TRACE_LIST_COLUMNS : body.columns;
    struct rect box = {body.row, body.column + body.columns - columns, rows, columns};
    struct rect inside = draw_box(&app->canvas, box, _("Curves: space, Enter"));
    targets_clear(&app->canvas.targets); /* a click must not reach what the list covers */
    if (inside.rows <= 0)
        return;
    size_t room = (size_t)inside.rows;
    if (choice->selected < choice->top)
        choice->top = choice->selected;
    if (choice->selected >= choice->top + room)
        choice->top = choice->selected - room + 1;
    for (size_t row = 0; row < room && choice->top + row < count; row++) {
        struct rect line = {inside.row + (int)row, inside.column, 1, inside.columns};
        draw_trace_item(app, series, line, items[choice->top + row],
                        choice->top + row == choice->selected);
        targets_add(&app->canvas.targets, line,
                    trace_letter(items[choice->top + row], trace_is_adversarial(series)), 1);
    }
}

/* --- all --- */

void run_view_draw(struct app *app, struct rect body)
{
    enum { LEAST_ROWS = 6 };
    struct run_entry *entry = app_entry(app);
    struct rect line = {body.row, body.column, body.rows >= LEAST_ROWS, body.columns};
    if (entry && others_draw_line(app, entry, line)) {
        body.row++;
        body.rows--;
    }
    struct run_layout layout = layout_run(body);
    if (!entry) {
        draw_wrapped(&app->canvas, body, 1, ROLE_FAINT,
                     _("There is no run yet: n sets one up, and r there starts it."));
        return;
    }
    const struct view *view = views_shown(app, entry);
    const struct rect finding = take_finding_line(entry, view, &layout);
    if (entry->run)
        run_plot_update(app, entry, &layout);
    enlarge_view(&layout, view);
    struct run_display display = display_of(app, entry);
    draw_view(app, entry, view, &layout, &display);
    if (!rect_is_empty(layout.facts))
        draw_facts(app, &layout, &display);
    draw_progress(app, layout.progress, &display);
    views_draw_tabs(app, entry, layout.tabs);
    if (!rect_is_empty(finding))
        draw_finding(app, entry, finding);
    if (run_model(app)->choice.open && view == &view_curves && entry->run)
        draw_trace_list(app, entry, body);
}

/* The panel beside the form is a list of parts from top to bottom. Each part has a minimum and a
 * maximum number of rows and a rank; layout_share divides the panel's rows among them. */
#include "ui/screens/setup/internal.h"

#include "base/language.h"
#include "base/number.h"
#include "base/text.h"
#include "runs/history/past_run.h"
#include "runs/settings/lr_preview.h"
#include "runs/settings/settings.h"
#include "ui/plot/axis_marks.h"
#include "ui/shared/form.h"
#include "ui/terminal/columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { VALUE_COLUMN = 13, RATES = 512 };

/* Draws a label and its value, aligned with the other values or, in a narrow panel, right after the
 * label. */
static void draw_fact(struct app *app, struct rect area, int row, const char *label,
                      const char *value)
{
    const int after = draw_text(&app->canvas, area, row, 1, ROLE_FAINT, label);
    const bool aligned =
        after < VALUE_COLUMN && VALUE_COLUMN + (int)columns_of(value) <= area.columns;
    draw_fitted_value(&app->canvas, area, row, aligned ? VALUE_COLUMN : after + 1, ROLE_TEXT,
                      value);
}

static bool fits_beside(struct rect area, const char *label, const char *value)
{
    return 2 + columns_of(label) + columns_of(value) <= (size_t)area.columns;
}

/* --- the network --- */

static void draw_network(struct app *app, struct rect area)
{
    const struct forecast *forecast = &app->shared.form.forecast;
    char text[96], number[32];
    draw_fact(app, area, 0, _("parameters"),
              text_count(forecast->parameters, number, sizeof number));
    snprintf(text, sizeof text, _("%s an image"),
             text_si((double)forecast->flops, number, sizeof number));
    draw_fact(app, area, 1, _("FLOPs"), text);
}

/* Writes the number of classes and, once the data set is open, how even they are: images of a
 * class, and how many times the largest has those of the smallest. */
static void write_classes(struct app *app, size_t classes, char *text, size_t size)
{
    const struct dataset_balance *balance = &setup_model(app)->balance;
    char count[32];
    text_count(classes, count, sizeof count);
    if (balance->most == 0)
        snprintf(text, size, "%s", count);
    else if (balance->empty > 0)
        snprintf(text, size, _("%s, %zu without images"), count, balance->empty);
    else if (balance->most == balance->least)
        snprintf(text, size, _("%s of %zu images"), count, balance->most);
    else if (2 * balance->most < 3 * balance->least)
        snprintf(text, size, _("%s of %zu-%zu images"), count, balance->least, balance->most);
    else
        snprintf(text, size, _("%s of %zu-%zu images, %.3g:1"), count, balance->least,
                 balance->most, (double)balance->most / (double)balance->least);
}

static void draw_input(struct app *app, struct rect area)
{
    const struct forecast *forecast = &app->shared.form.forecast;
    char text[96];
    snprintf(text, sizeof text, "%zux%zux%zu", forecast->input.channels, forecast->input.height,
             forecast->input.width);
    draw_fact(app, area, 0, _("input"), text);
    if (forecast->classes)
        write_classes(app, forecast->classes, text, sizeof text);
    else
        snprintf(text, sizeof text, "%s", _("none: it makes pictures"));
    draw_fact(app, area, 1, _("classes"), text);
}

/* --- memory --- */

enum { MEMORY_KINDS = MEMORY_PARTS + 3 };

/* Fills the kinds of a forecast. Returns how many are shown: the program is not on a GPU. */
static int memory_kinds(const struct forecast *forecast, struct memory_part kinds[MEMORY_KINDS])
{
    const struct memory_part program = {N_("program"), forecast->program_bytes};
    size_t shown = forecast_parts(&forecast->memory, kinds);
    kinds[shown++] = (struct memory_part){N_("batches"), forecast->loader_bytes};
    kinds[shown] = program;
    shown += program.bytes > 0;
    kinds[shown++] = (struct memory_part){N_("the rest"), forecast->other_bytes};
    return (int)shown;
}

static void draw_kinds(struct app *app, struct rect area)
{
    const struct forecast *forecast = &app->shared.form.forecast;
    const double total = (double)forecast_peak(forecast);
    struct memory_part kinds[MEMORY_KINDS];
    const int count = memory_kinds(forecast, kinds);
    char text[64];
    for (int row = 0; row < count; row++) {
        draw_fact(app, area, row, gettext(kinds[row].name),
                  text_bytes(kinds[row].bytes, text, sizeof text));
        if (area.columns > 24 && total > 0)
            draw_gauge(&app->canvas, area, row, 23, area.columns - 24,
                       (double)kinds[row].bytes / total, ROLE_GAUGE);
    }
}

/* Writes how much of the available memory the run needs. Returns `text`. */
static char *memory_words(const struct forecast *forecast, char *text, size_t size)
{
    const double part = (double)forecast_peak(forecast) / (double)forecast_free(forecast);
    if (!forecast->fits)
        snprintf(text, size, "%s", _("more than is free"));
    else if (forecast->swaps)
        snprintf(text, size, "%s", _("more than is free: it swaps"));
    else if (part >= 0.8)
        snprintf(text, size, _("%.0f %% of it: tight"), 100 * part);
    else if (part >= 0.01)
        snprintf(text, size, _("%.0f %% of it"), 100 * part);
    else
        snprintf(text, size, "%s", _("under 1 % of it"));
    return text;
}

/* Returns the name of the limit that bounds the available memory, so that the user can raise it. */
static const char *bound_words(enum memory_bound bound)
{
    static const char *const words[] = {[BOUND_UNKNOWN] = "",
                                        [BOUND_MACHINE] = N_("free: what the machine has"),
                                        [BOUND_CONTROL_GROUP] = N_("free: the cgroup's limit"),
                                        [BOUND_ULIMIT] = N_("free: the shell's ulimit")};
    return words[bound][0] ? gettext(words[bound]) : "";
}

/* Returns whether values are recomputed, for the memory limit or because a GPU gains by it. */
static bool recomputes(const struct forecast *forecast)
{
    return forecast->memory.unlimited > forecast->memory.total;
}

static void draw_limit(struct app *app, struct rect area, int row)
{
    const struct memory_forecast *memory = &app->shared.form.forecast.memory;
    char saved[32], text[96];
    text_bytes(memory->unlimited - memory->total, saved, sizeof saved);
    snprintf(text, sizeof text, _("%s for %.1f %% more FLOPs"), saved,
             plan_recompute_overhead(memory));
    const char *label = machine_settings(&app->shared.form.config).memory_limit[0]
                            ? _("limit saves")
                            : _("recomputed");
    if (!fits_beside(area, label, text))
        snprintf(text, sizeof text, "%s (+%.1f %%)", saved, plan_recompute_overhead(memory));
    draw_fact(app, area, row, label, text);
}

static void draw_memory(struct app *app, struct rect area)
{
    const struct forecast *forecast = &app->shared.form.forecast;
    char needed[32], free_bytes[32], text[96];
    text_bytes(forecast_peak(forecast), needed, sizeof needed);
    if (forecast->memory_free == 0) {
        draw_fact(app, area, 0, _("memory"), needed);
        draw_text(&app->canvas, area, 1, VALUE_COLUMN, ROLE_FAINT, _("what is free: not known"));
        if (recomputes(forecast))
            draw_limit(app, area, 2);
        return;
    }
    text_bytes(forecast_free(forecast), free_bytes, sizeof free_bytes);
    snprintf(text, sizeof text, _("%s of %s free"), needed, free_bytes);
    if (!fits_beside(area, _("memory"), text))
        snprintf(text, sizeof text, _("%s of %s"), needed, free_bytes);
    draw_fact(app, area, 0, _("memory"), text);
    memory_words(forecast, text, sizeof text);
    const int words = (int)columns_of(text), gauge = area.columns - words - 3;
    if (gauge > 4)
        draw_gauge(&app->canvas, area, 1, 1, gauge,
                   (double)forecast_peak(forecast) / (double)forecast_free(forecast),
                   forecast->fits && !forecast->swaps ? ROLE_GAUGE : ROLE_BAD);
    draw_right(&app->canvas, area, 1, forecast->fits && !forecast->swaps ? ROLE_TEXT : ROLE_BAD,
               text);
    if (recomputes(forecast))
        draw_limit(app, area, 2);
    draw_text(&app->canvas, area, 2 + recomputes(forecast), 1, ROLE_FAINT,
              bound_words(forecast->memory_bound));
}

/* --- time --- */

static char *age_words(double seconds, char *text, size_t size)
{
    const unsigned long minutes = number_to_uint64(seconds / 60), hours = minutes / 60,
                        days = hours / 24;
    if (seconds < 0)
        snprintf(text, size, "%s", _("earlier"));
    else if (minutes < 1)
        snprintf(text, size, "%s", _("just now"));
    else if (hours < 1)
        snprintf(text, size, ngettext("%lu minute ago", "%lu minutes ago", minutes), minutes);
    else if (days < 1)
        snprintf(text, size, ngettext("%lu hour ago", "%lu hours ago", hours), hours);
    else
        snprintf(text, size, ngettext("%lu day ago", "%lu days ago", days), days);
    return text;
}

static bool past_is_known(const struct app *app)
{
    return setup_model(app)->past_known &&
           past_run_is_alike(&setup_model(app)->searched, &app->shared.form.config);
}

static void draw_time_unknown(struct app *app, struct rect area)
{
    const struct run_config *config = &app->shared.form.config;
    char text[480];
    struct rect value = {area.row, area.column + VALUE_COLUMN, area.rows,
                         area.columns - VALUE_COLUMN};
    draw_text(&app->canvas, area, 0, 1, ROLE_FAINT, _("ms/image"));
    if (!past_is_known(app))
        snprintf(text, sizeof text, "%s", _("searching earlier runs ..."));
    else if (network_settings(config).technique == TECHNIQUE_NONE)
        snprintf(text, sizeof text, _("not known: no run of %.200s (batch %zu, %s) yet"),
                 network_settings(config).network, training_settings(config).batch,
                 machine_settings(config).device);
    else
        snprintf(text, sizeof text, _("not known: no run of %.200s with %s (batch %zu, %s) yet"),
                 network_settings(config).network,
                 technique_name((enum technique)network_settings(config).technique),
                 training_settings(config).batch, machine_settings(config).device);
    draw_wrapped(&app->canvas, value, 0, ROLE_FAINT, text);
}

/* Writes the time that the run takes; that of its validations is not known. Returns `text`. */
static char *time_words(const struct app *app, double seconds, char *text, size_t size)
{
    char duration[64];
    snprintf(text, size,
             data_settings(&app->shared.form.config).validate[0] ? _("at least %s") : _("about %s"),
             text_duration(seconds, duration, sizeof duration));
    return text;
}

static void draw_time(struct app *app, struct rect area)
{
    const struct setup_model *model = setup_model(app);
    const double seconds = setup_seconds(model, &app->shared.form);
    char text[128], part[64];
    if (!past_is_known(app) || !model->past.found) {
        draw_time_unknown(app, area);
        return;
    }
    snprintf(text, sizeof text, _("%.3g (%s)"), model->past.ms_per_image,
             age_words(model->past.age_seconds, part, sizeof part));
    draw_fact(app, area, 0, _("ms/image"), text);
    if (seconds < 0)
        snprintf(text, sizeof text, "%s", _("not known: the data is not open"));
    else
        time_words(app, seconds, text, sizeof text);
    draw_fact(app, area, 1, _("to the end"), text);
    const int after = draw_text(&app->canvas, area, 2, 1, ROLE_FAINT, _("as run"));
    draw_fitted_name(&app->canvas, area, 2, after + 1, ROLE_TEXT, model->past.id);
}

/* --- the verdict --- */

static void draw_verdict(struct app *app, struct rect area)
{
    const struct form *form = &app->shared.form;
    struct rect inside = {area.row, area.column + 1, area.rows, area.columns - 1};
    char text[1100];
    if (form->problem.kind == ERROR_NONE && setup_data_error(setup_model(app), form)) {
        draw_wrapped(&app->canvas, inside, 0, ROLE_BAD,
                     _("! It fits, but its data cannot be opened."));
        return;
    }
    if (form->problem.kind == ERROR_NONE) {
        const int next = draw_wrapped(&app->canvas, inside, 0, ROLE_GOOD,
                                      form_takes_text(form) ? _("It fits. Press F5 to run it.")
                                                            : _("It fits. Press r to run it."));
        draw_wrapped(&app->canvas, inside, next, ROLE_WARNING, setup_model(app)->others);
        return;
    }
    int row = draw_wrapped(&app->canvas, inside, 0, ROLE_BAD, _("! This cannot run."));
    if (form->problem_field == FORM_NO_FIELD) {
        draw_wrapped(&app->canvas, inside, row, ROLE_TEXT,
                     setting_error_format(&form->problem, text, sizeof text));
        return;
    }
    snprintf(text, sizeof text, _("See %s."), gettext(form->fields[form->problem_field]->label));
    draw_wrapped(&app->canvas, inside, row, ROLE_TEXT, text);
}

/* --- the learning rate --- */

static bool is_level(const struct run_config *config)
{
    const struct training_settings training = training_settings(config);
    return training.schedule == LR_SCHEDULE_FIXED || training.schedule == LR_SCHEDULE_PLATEAU;
}

static void plot_rates(struct app *app, struct rect area, const float *rates, size_t count,
                       const struct axis *y)
{
    static const enum role roles[] = {ROLE_TEXT, ROLE_RATE};
    static const enum plot_style styles[] = {PLOT_SOLID, PLOT_SOLID};
    struct plot *plot = &setup_model(app)->plot;
    if (rect_is_empty(area) ||
        !plot_reset(plot, (size_t)area.rows, (size_t)area.columns, app->symbols, NULL))
        return;
    const long width = (long)plot_width(plot), height = (long)plot_height(plot);
    long before = 0;
    for (long x = 0; x < width; x++) {
        const size_t at = width > 1 ? (size_t)x * (count - 1) / (size_t)(width - 1) : 0;
        const long now = lround(axis_position(y, (double)rates[at]) * (double)(height - 1));
        plot_line(plot, 1, x ? x - 1 : 0, x ? before : now, x, now);
        before = now;
    }
    plot_draw(&app->canvas, area, plot, roles, styles);
}

static void draw_curve(struct app *app, struct rect area, const float *rates,
                       const struct lr_preview *plan)
{
    const struct plot_layout layout = layout_plot(area, false);
    const struct axis y = axis_for_range(0, fmax(plan->first, plan->last), false);
    const bool epochs = plan->epochs > 0;
    const struct axis x = {0, epochs ? plan->epochs : fmax(1, (double)plan->iterations), false};
    plot_rates(app, layout.plot, rates, RATES, &y);
    plot_axes_draw_y(&app->canvas, layout.labels, &y);
    plot_axes_draw_x(&app->canvas, layout.axis, &x, epochs ? X_EPOCH : X_ITERATION,
                     layout.labels.columns > 0);
}

static void draw_rate(struct app *app, struct rect area)
{
    const struct run_config *config = &app->shared.form.config;
    float rates[RATES];
    struct lr_preview plan;
    char text[160];
    struct rect below = {area.row + 1, area.column, area.rows - 1, area.columns};
    bool known = lr_preview_make(config, setup_images(setup_model(app), &app->shared.form), rates,
                                 RATES, &plan);
    if (!known)
        snprintf(text, sizeof text, "%s", _("learning rate: the images are not counted yet"));
    else if (plan.by_loss)
        snprintf(text, sizeof text, _("learning rate %g, less when the loss stays"), plan.first);
    else if (is_level(config))
        snprintf(text, sizeof text, _("learning rate %g all the time"), plan.first);
    else if (plan.last < plan.first / 1000)
        snprintf(text, sizeof text, _("learning rate %g, falling to 0"), plan.first);
    else
        snprintf(text, sizeof text, _("learning rate %g to %.3g"), plan.first, plan.last);
    draw_sentence(&app->canvas, area, 0, 1, ROLE_FAINT, text);
    if (known && !is_level(config) && below.rows >= 3)
        draw_curve(app, below, rates, &plan);
}

/* --- pictures --- */

static void draw_pictures(struct app *app, struct rect area)
{
    struct rect inside = {area.row, area.column + 1, area.rows, area.columns - 1};
    setup_draw_pictures(setup_model(app), &app->shared.form, &app->canvas, inside);
}

/* --- all of it --- */

enum part { NETWORK, INPUT, KINDS, MEMORY, TIME, VERDICT, RATE, PICTURES, PARTS };

static void (*const draw_part[PARTS])(struct app *app, struct rect area) = {
    [NETWORK] = draw_network, [INPUT] = draw_input,      [KINDS] = draw_kinds,
    [MEMORY] = draw_memory,   [TIME] = draw_time,        [VERDICT] = draw_verdict,
    [RATE] = draw_rate,       [PICTURES] = draw_pictures};

static void plan_parts(const struct app *app, bool pictures, int rows,
                       struct layout_part parts[PARTS])
{
    const bool known = app->shared.form.forecast_known,
               wrong = app->shared.form.problem.kind != ERROR_NONE ||
                       setup_data_error(setup_model(app), &app->shared.form);
    const int others = setup_model(app)->others[0] ? 2 : 0; /* lines about other processes */
    const bool roomy = rows >= 24;
    const int gap = roomy, limit = known && recomputes(&app->shared.form.forecast);
    struct memory_part kinds[MEMORY_KINDS];
    const int kind_rows = memory_kinds(&app->shared.form.forecast, kinds);
    const struct layout_part wanted[PARTS] = {
        [VERDICT] = {.rank = 0,
                     .least = wrong ? 2 : 1 + others,
                     .most = wrong ? 6 : 1 + others,
                     .gap = gap},
        [MEMORY] = {.rank = 1, .least = 2 + limit, .most = 2 + limit + roomy},
        [NETWORK] = {.rank = 2, .least = 2, .most = 2},
        [TIME] = {.rank = 3, .least = 2, .most = setup_model(app)->past.found ? 3 : 4},
        [RATE] = {.rank = 4,
                  .least = 1,
                  .most = is_level(&app->shared.form.config) ? 1 : 9,
                  .gap = gap},
        [PICTURES] = {.rank = 5, .least = 6, .most = 1000, .gap = gap},
        [INPUT] = {.rank = 6, .least = 2, .most = 2},
        [KINDS] = {.rank = 7, .least = kind_rows, .most = kind_rows}};
    memcpy(parts, wanted, sizeof wanted);
    if (!is_level(&app->shared.form.config))
        parts[RATE].least = 5;
    if (!pictures)
        parts[PICTURES] = (struct layout_part){.rank = 5};
    if (!known)
        for (int i = 0; i < PARTS; i++)
            if (i != VERDICT && i != PICTURES)
                parts[i] = (struct layout_part){.rank = parts[i].rank};
    if (!known && !wrong)
        parts[VERDICT] = (struct layout_part){.rank = 0};
}

void form_panel_draw(struct app *app, struct rect area, bool pictures)
{
    struct layout_part parts[PARTS];
    if (rect_is_empty(area))
        return;
    draw_text(&app->canvas, area, 0, 1, ROLE_HEADING, _("What it takes"));
    if (app->shared.form.forecast_stale && app->shared.form.problem.kind == ERROR_NONE)
        draw_right(&app->canvas, area, 0, ROLE_FAINT, "...");
    plan_parts(app, pictures, area.rows, parts);
    layout_share(area.rows - 1, parts, PARTS);
    int row = 1;
    for (int i = 0; i < PARTS; i++) {
        if (parts[i].given == 0)
            continue;
        row += parts[i].gap;
        draw_part[i](app, (struct rect){area.row + row, area.column, parts[i].given, area.columns});
        row += parts[i].given;
    }
}

/* Draws why the form cannot run: in one line that names the row under which the form explains it,
 * or else in as many lines as it takes. Returns the row after. */
static int draw_problem(struct app *app, struct rect area, const struct error *problem)
{
    const struct form *form = &app->shared.form;
    const struct config_field *field = problem != &form->problem ? config_find(KEY(data))
                                       : form->problem_field != FORM_NO_FIELD
                                           ? form->fields[form->problem_field]
                                           : NULL;
    char text[1200], words[1100];
    snprintf(text, sizeof text, "! %s", setting_error_format(problem, words, sizeof words));
    if (field && (int)columns_of(text) > area.columns)
        snprintf(text, sizeof text, _("! It cannot run: see %s."), gettext(field->label));
    return draw_wrapped(&app->canvas, area, 0, ROLE_BAD, text);
}

/* Writes what the run needs: its memory and, as far as there is room, its time and the memory that
 * is free. */
static void write_estimate(struct app *app, size_t columns, char *text, size_t size)
{
    const struct form *form = &app->shared.form;
    const double seconds = setup_seconds(setup_model(app), form);
    char parameters[32], total[32], free_bytes[32], duration[64];
    text_bytes(forecast_peak(&form->forecast), total, sizeof total);
    text_bytes(forecast_free(&form->forecast), free_bytes, sizeof free_bytes);
    text_si((double)form->forecast.parameters, parameters, sizeof parameters);
    if (seconds >= 0 && form->forecast.memory_free > 0) {
        time_words(app, seconds, duration, sizeof duration);
        snprintf(text, size, _("%s of %s free, %s"), total, free_bytes, duration);
        if (columns_of(text) > columns)
            snprintf(text, size, "%s, %s", total, duration);
    } else
        snprintf(text, size, _("memory %s, %s parameters"), total, parameters);
    if (columns_of(text) > columns)
        snprintf(text, size, _("memory %s"), total);
}

int form_panel_draw_summary(struct app *app, struct rect area)
{
    const struct form *form = &app->shared.form;
    char text[256];
    const struct error *problem = form->problem.kind != ERROR_NONE
                                      ? &form->problem
                                      : setup_data_error(setup_model(app), form);
    if (rect_is_empty(area))
        return 0;
    if (problem)
        return draw_problem(app, area, problem);
    if (form->forecast_known) {
        write_estimate(app, (size_t)area.columns, text, sizeof text);
        draw_text(&app->canvas, area, 0, 0, ROLE_STRONG, text);
    }
    return 1;
}

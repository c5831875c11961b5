/* Writes runs as a Markdown document. Each section reads the run's record and adds a table to one
 * text, which is written to its file at the end. Every name that comes from a file is escaped, so
 * that it cannot become markup. */
#include "studies/compare/report.h"

#include "base/character.h"
#include "base/clock.h"
#include "base/escape/markdown.h"
#include "base/escape/shell.h"
#include "base/escape/visible.h"
#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/host/host.h"
#include "base/language.h"
#include "runs/folder/run_name.h"
#include "runs/settings/config_data.h"
#include "runs/settings/settings.h"
#include "runs/values/run_snapshot.h"
#include "runs/values/series.h"
#include "studies/compare/compare.h"

#include <config.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- formatting --- */

static void put_row(struct text *text, const char *label, const char *value)
{
    visible_append_format(text, markdown_append, "| %s | %s |\n", label, value);
}

__attribute__((format(printf, 3, 4))) static void put_value(struct text *text, const char *label,
                                                            const char *format, ...)
{
    char value[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    put_row(text, label, value);
}

static void begin_table(struct text *text, const char *left, const char *right)
{
    text_append(text, "| %s | %s |\n|---|---|\n", left, right);
}

static void put_number(struct text *text, const char *label, double value, const char *unit)
{
    if (isfinite(value))
        put_value(text, label, "%.5g%s", value, unit);
    else
        put_row(text, label, TEXT_NUMBER(value, 5));
}

/* Adds a result; what the log of an imported run does not give is left out. */
static void put_result(struct text *text, const struct run *run, const char *label, double value,
                       const char *unit)
{
    if (!isnan(value) || !run_facts(run)->imported[0])
        put_number(text, label, value, unit);
}

static void put_bytes(struct text *text, const char *label, uint64_t bytes)
{
    char size[32];
    put_row(text, label, text_bytes(bytes, size, sizeof size));
}

/* --- a run --- */

static void put_state(struct text *text, const struct run *run, const struct run_snapshot *now)
{
    char problem[1200], duration[48];
    text_append(text, _("Status: **%s**, %" PRIu64 " of %" PRIu64 " iterations"),
                gettext(run_snapshot_word(now)), now->iteration, now->iterations);
    if (isfinite(now->epochs)) /* an imported log may give neither these nor times */
        text_append(text, _(", %.4g of %.4g epochs"), now->epoch, now->epochs);
    if (isfinite(now->elapsed_seconds))
        text_append(text, _(" in %s"),
                    text_duration(now->elapsed_seconds, duration, sizeof duration));
    text_append(text, ".\n");
    if (!run_status_is_over(now->status))
        text_append(text, "%s\n", _("It is still on: these are the figures of this moment."));
    if (run_facts(run)->created[0])
        visible_append_format(text, markdown_append, _("Begun %s.\n"), run_facts(run)->created);
    if (run_facts(run)->imported[0] && run_facts(run)->host[0])
        visible_append_format(text, markdown_append, _("Imported from a log of %s, host %s.\n"),
                              run_facts(run)->imported, run_facts(run)->host);
    else if (run_facts(run)->imported[0])
        visible_append_format(text, markdown_append, _("Imported from a log of %s.\n"),
                              run_facts(run)->imported);
    if (now->error.kind == ERROR_NONE)
        return;
    text_append(text, "\n> ");
    markdown_append(text, error_format(&now->error, problem, sizeof problem));
    text_append(text, "\n");
}

static void put_settings(struct text *text, const struct run *run)
{
    char value[600];
    text_append(text, "\n### %s\n\n", _("Settings"));
    begin_table(text, _("Setting"), _("Value"));
    for (size_t i = 0; i < config_field_count; i++) {
        const char *key = config_fields[i].key;
        if (!config_is_known(run_config(run), run_facts(run)->imported, key) ||
            !config_applies(run_config(run), &config_fields[i]))
            continue;
        config_get(run_config(run), config_fields[i].key, value, sizeof value);
        put_row(text, config_fields[i].key, value[0] ? value : "-");
    }
}

static void put_validation(struct text *text, const struct run *run, const struct run_snapshot *now)
{
    size_t best = series_best(run_series(run));
    const struct run_figures figures = run_figures_of(now, run_series(run));
    if (!now->validation.known) {
        put_row(text, _("validation"),
                run_facts(run)->imported[0] ? _("none in the log")
                : data_settings(run_config(run)).validate[0]
                    ? _("not measured yet")
                    : _("not measured: no validation data were given"));
        return;
    }
    put_result(text, run, _("validation loss"), figures.validation_loss, "");
    put_result(text, run, _("best validation loss"), figures.best_validation_loss, "");
    if (isfinite(now->validation.pixel_accuracy) && run_facts(run)->classes == 0)
        put_number(text, _("pixel accuracy"), now->validation.pixel_accuracy, " %");
    else {
        put_result(text, run, _("top-1 accuracy"), figures.top1, " %");
        put_result(text, run, _("top-5 accuracy"), figures.top5, " %");
        put_result(text, run, _("best top-1 accuracy"), figures.best_top1, " %");
    }
    if (best != SIZE_MAX && isfinite(run_series(run)->validations[best].epoch))
        put_value(text, _("best epoch"), "%.4g", (double)run_series(run)->validations[best].epoch);
}

/* The test set has chosen nothing: its figures are those of the saved model, once. */
static void put_test(struct text *text, const struct run *run, const struct run_snapshot *now)
{
    const struct run_test *test = &now->test;
    char spec[CONFIG_SPEC], count[32];
    if (test->images == 0) {
        if (data_settings(run_config(run)).test[0])
            put_row(text, _("test"), _("not measured: the run has not reached its end"));
        return;
    }
    put_row(text, _("test data"), config_test_spec(run_config(run), spec));
    put_row(text, _("test images"), text_count(test->images, count, sizeof count));
    put_value(text, _("epoch of the tested model"), "%.4g", test->epoch);
    put_number(text, _("test loss"), test->loss, "");
    if (isfinite(test->pixel_accuracy) && run_facts(run)->classes == 0)
        put_number(text, _("pixel accuracy of the test"), test->pixel_accuracy, " %");
    else {
        put_number(text, _("top-1 accuracy of the test"), test->top1, " %");
        put_number(text, _("top-5 accuracy of the test"), test->top5, " %");
    }
}

static void put_results(struct text *text, const struct run *run, const struct run_snapshot *now)
{
    char count[32];
    const struct run_facts *facts = run_facts(run);
    text_append(text, "\n### %s\n\n", _("Results"));
    begin_table(text, _("Result"), _("Value"));
    if (facts->parameters)
        put_row(text, _("parameters"), text_count(facts->parameters, count, sizeof count));
    if (facts->flops)
        put_row(text, _("FLOPs of an image"), text_si((double)facts->flops, count, sizeof count));
    if (facts->images)
        put_row(text, _("training images"), text_count(facts->images, count, sizeof count));
    if (now->iteration > 0) {
        put_result(text, run, _("loss"), run_figures_of(now, NULL).loss, "");
        put_result(text, run, _("mean loss"), now->loss_mean, "");
    } else
        put_row(text, _("loss"), _("not measured: no iteration is done"));
    put_validation(text, run, now);
    put_test(text, run, now);
}

static void put_findings(struct text *text, const struct run *run, size_t count)
{
    text_append(text, "\n### %s\n\n", _("Findings"));
    if (count == 0)
        text_append(text, "%s\n", _("None."));
    for (size_t i = 0; i < count; i++) {
        struct finding finding;
        run_finding(run, i, &finding);
        const char *kind = gettext(finding_kind_words(finding.kind));
        if (isnan(finding.epoch))
            text_append(text, _("- **%s**, from iteration %" PRIu64 ": "), kind, finding.iteration);
        else
            text_append(text, _("- **%s**, from iteration %" PRIu64 " (epoch %.3g): "), kind,
                        finding.iteration, finding.epoch);
        markdown_append(text, finding.text);
        text_append(text, "\n");
    }
}

/* --- times --- */

static void put_interval(struct text *text, const char *label, const struct statistics *times)
{
    if (isnan(times->ci95)) {
        put_value(text, label, _("%.4g ms an image (one value has no spread)"), times->mean);
        return;
    }
    put_value(text, label, _("%.4g +- %s ms an image (mean, 95 %% interval)"), times->mean,
              TEXT_NUMBER(times->ci95, 2));
    put_value(text, _("median, least, standard deviation"), "%.4g, %.4g, %s ms", times->median,
              times->min, TEXT_NUMBER(times->sd, 2));
}

static void put_inference(struct text *text, const struct measurement *entry)
{
    char label[64];
    snprintf(label, sizeof label, _("inference on %s"), entry->on.device);
    if (entry->stale) {
        put_row(text, label, _("stale: the model has changed since; measure it again"));
        return;
    }
    put_interval(text, label, &entry->ms_per_image);
    if (isfinite(entry->joules_per_image))
        put_value(text, _("its energy"), _("%.4g J/image, %.4g W"), entry->joules_per_image,
                  entry->watts);
    else if (entry->energy_unknown[0])
        put_row(text, _("its energy"), entry->energy_unknown);
    put_value(text, _("measured on"), _("%zu single images, %zu threads, %s (%s)"), entry->images,
              entry->on.threads, entry->on.cpu, entry->on.host);
}

static void put_measurements(struct text *text, const struct run_facts *facts)
{
    struct error error;
    char operand[200];
    struct measurements list = {0};
    bool read = measurements_read(&list, facts->directory, &error);
    for (size_t i = 0; read && i < list.count; i++)
        put_inference(text, &list.entries[i]);
    if (!read)
        put_row(text, _("inference"), error.why);
    else if (list.count == 0)
        put_value(text, _("inference of one image"),
                  _("not measured: tinca measure %s would measure it"),
                  shell_operand(facts->id, operand, sizeof operand));
    measurements_free(&list);
}

static void put_energy(struct text *text, const struct run_snapshot *now)
{
    if (run_snapshot_has_energy(now))
        put_value(text, _("energy of training"), _("%.4g J/image, %.4g W"),
                  run_snapshot_joules_per_image(now), run_snapshot_watts(now));
    else
        put_row(text, _("energy of training"),
                now->energy.unknown[0] ? now->energy.unknown : _("not known"));
}

static bool put_timing(struct text *text, const struct run *run, const struct run_snapshot *now,
                       struct error *error)
{
    struct statistics times;
    char duration[48];
    size_t count = series_count(run_series(run));
    if (!timing_of_series(run_series(run), &times, error))
        return false;
    text_append(text, "\n### %s\n\n", _("Timing"));
    begin_table(text, _("Time"), _("Value"));
    if (count > 1 && isnan(times.mean)) /* an imported log without times */
        put_row(text, _("training"), _("not known"));
    else if (count > 1)
        put_interval(text, _("training"), &times);
    else
        put_row(text, _("training"), _("not measured: fewer than two iterations are done"));
    if (run_facts(run)->imported[0]) {
        if (isfinite(times.mean))
            put_value(text, _("iterations measured"), "%zu", count);
        return true;
    }
    put_value(text, _("iterations measured"), "%zu", count);
    put_value(text, _("waited for data"), "%s",
              text_duration(now->feed_wait_seconds, duration, sizeof duration));
    put_energy(text, now);
    put_measurements(text, run_facts(run));
    text_append(
        text, "\n%s\n",
        _("An image's share of an iteration is its time divided by the batch. The intervals "
          "are Student's and assume independent iterations, which neighbouring "
          "iterations are only nearly."));
    return true;
}

/* --- memory --- */

static uint64_t highest_memory(const struct series *series)
{
    uint64_t highest = 0;
    for (size_t i = 0, count = series_count(series); i < count; i++)
        if (series->points[i].memory_bytes > highest)
            highest = series->points[i].memory_bytes;
    return highest;
}

static void put_memory(struct text *text, const struct run *run)
{
    const struct memory_forecast *forecast = &run_facts(run)->forecast;
    uint64_t measured = highest_memory(run_series(run));
    if (measured == 0 && run_facts(run)->imported[0])
        return;
    text_append(text, "\n### %s\n\n", _("Memory"));
    begin_table(text, _("Memory"), _("Bytes"));
    if (forecast->total > 0) {
        put_bytes(text, _("forecast: weights"), forecast->weights);
        put_bytes(text, _("forecast: gradients"), forecast->gradients);
        put_bytes(text, _("forecast: solver"), forecast->solver);
        put_bytes(text, _("forecast: activations"), forecast->activations);
        put_bytes(text, _("forecast: workspace"), forecast->workspace);
        if (forecast->teacher > 0)
            put_bytes(text, _("forecast: teacher"), forecast->teacher);
        put_bytes(text, _("forecast: in all"), forecast->total);
        if (forecast->unlimited > forecast->total)
            put_bytes(text, _("forecast: without recomputation"), forecast->unlimited);
    } else
        put_row(text, _("forecast: in all"), _("not known"));
    if (measured > 0)
        put_bytes(text, _("measured: highest"), measured);
    else
        put_row(text, _("measured: highest"), _("not measured"));
    text_append(text, "\n%s\n",
                _("The forecast is of the network's training alone; measured is what the whole "
                  "program held, its code, libraries and images among it."));
}

static bool put_run(struct text *text, const struct run *run, struct error *error)
{
    struct run_snapshot now;
    const struct run_facts *facts = run_facts(run);
    char name[RUN_NAME_SIZE];
    run_snapshot(run, &now);
    const bool known = config_is_known(run_config(run), facts->imported, KEY(network));
    const bool named = run_name_read(facts->directory, name)[0] != '\0';
    text_append(text, "\n## ");
    markdown_append(text, known || !named ? facts->network : "");
    if (named) {
        text_append(text, known ? ", " : "");
        markdown_append(text, name);
    }
    text_append(text, " (");
    markdown_append(text, facts->id);
    text_append(text, ")\n\n");
    put_state(text, run, &now);
    put_settings(text, run);
    put_results(text, run, &now);
    put_findings(text, run, now.finding_count);
    if (!put_timing(text, run, &now, error))
        return false;
    put_memory(text, run);
    return true;
}

/* --- the document --- */

static void put_host(struct text *text)
{
    struct host host;
    char now[32], memory[32];
    host_describe(&host);
    text_append(text, _("Written by tinca %s at %s on "), PACKAGE_VERSION,
                clock_now_rfc3339(now, sizeof now));
    markdown_append(text, host.name);
    text_append(text, ": ");
    markdown_append(text, host.cpu);
    text_append(text,
                ngettext(", %zu core, %s of memory.\n", ", %zu cores, %s of memory.\n", host.cores),
                host.cores, text_bytes(host.memory_bytes, memory, sizeof memory));
}

/* Appends a path as a link target, percent-encoding characters that Markdown or a terminal would
 * interpret (RFC 3986). */
static void append_link(struct text *text, const char *path)
{
    while (*path) {
        bool visible;
        const size_t length = character_length(path, &visible);
        for (size_t i = 0; i < length; i++)
            text_append(text, visible && !strchr("<>\\%()", *path) ? "%c" : "%%%02X",
                        (unsigned char)path[i]);
        path += length;
    }
}

/* Links the chart. A chart in the same folder is linked by its bare name, so that both files can be
 * moved together. */
static void put_picture(struct text *text, const char *picture, const char *path)
{
    char report_copy[PATH_MAX], picture_copy[PATH_MAX], whole[PATH_MAX];
    snprintf(report_copy, sizeof report_copy, "%s", path);
    snprintf(picture_copy, sizeof picture_copy, "%s", picture);
    const char *link = picture;
    if (strcmp(dirname(report_copy), dirname(picture_copy)) == 0)
        link = file_base_name(picture);
    else if (realpath(picture, whole))
        link = whole;
    text_append(text, "\n![%s](<", _("The curves"));
    append_link(text, link);
    text_append(text, ">)\n");
}

static bool put_comparison(struct text *text, struct run *const *runs, size_t count,
                           struct error *error)
{
    struct comparison comparison = {0};
    bool compared = true;
    for (size_t i = 0; compared && i < count; i++)
        compared = compare_add_run(&comparison, runs[i], error);
    compared = compared && compare_merge_seeds(&comparison, NULL, error) &&
               compare_complete(&comparison, error);
    if (compared) {
        text_append(text, "\n## %s\n\n", _("Comparison"));
        compare_write(&comparison, COMPARE_MARKDOWN, text, NULL);
    }
    compare_free(&comparison);
    return compared;
}

static bool put_report(struct text *text, struct run *const *runs, size_t count,
                       const char *picture, const char *path, struct error *error)
{
    text_append(text, ngettext("# Report of %zu run\n\n", "# Report of %zu runs\n\n", count),
                count);
    put_host(text);
    if (picture)
        put_picture(text, picture, path);
    if (count > 1 && !put_comparison(text, runs, count, error))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!put_run(text, runs[i], error))
            return false;
    return !text->failed || error_set_memory(error, "the report", 0);
}

bool report_write(struct run *const *runs, size_t count, const char *picture, const char *path,
                  struct error *error)
{
    struct text text = {0};
    bool written = put_report(&text, runs, count, picture, path, error) &&
                   output_file_write(path, text.data, text.length, OUTPUT_TEXT, error);
    text_free(&text);
    return written;
}

/* A log is read to its end, so that its points can be counted; of other files the first bytes tell
 * what they are. */
#include "exchange/formats.h"

#include "base/language.h"
#include "exchange/logs/import.h"

static const struct {
    unsigned carries;
    const char *word, *words; /* in JSON, and as a text */
} contents[] = {{CARRIES_NETWORK, "network", N_("a network")},
                {CARRIES_WEIGHTS, "weights", N_("arrays of weights or values")},
                {CARRIES_RUNS, "runs", N_("curves and results of runs")},
                {CARRIES_LOG, "log", N_("the log of a training")},
                {CARRIES_CHART, "chart", N_("a picture")}};

/* Adds what a file is and carries; NULL as the title: nothing that is known. */
static void add(struct exchange_report *report, const char *path, const char *title,
                unsigned carries, const char *made)
{
    struct json *root = report->json = json_new_object(), *list = NULL;
    bool added = json_add_string(root, "file", path) &&
                 (title ? json_add_string(root, "kind", title) : json_add_null(root, "kind")) &&
                 (list = json_add_array(root, "carries"));
    exchange_tell(&report->result, "%s: %s", path,
                  title ? gettext(title) : _("nothing that tinca knows"));
    const char *before = ": ";
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++)
        if (contents[i].carries & carries) {
            exchange_tell(&report->result, "%s%s", before, gettext(contents[i].words));
            added = added && json_add_string(list, NULL, contents[i].word);
            before = ", ";
        }
    exchange_tell(&report->result, "%s\n", made);
    report->incomplete = !added;
}

/* Describes the logs in a file. Returns false if it has none. */
static bool describe_log(const char *path, struct exchange_report *report)
{
    struct import_summary summary;
    if (!import_summarise(path, &summary))
        return false;
    const struct format *format = format_named(summary.framework, CARRIES_LOG);
    add(report, path, format ? format->title : content_name(CONTENT_STUDY_TABLE), CARRIES_LOG,
        _("; tinca import makes a run of it"));
    exchange_tell(&report->result,
                  ngettext("  %zu training, %llu points, %llu validations\n",
                           "  %zu trainings, %llu points, %llu validations\n", summary.trainings),
                  summary.trainings, (unsigned long long)summary.points,
                  (unsigned long long)summary.validations);
    report->incomplete |= !json_add_count(report->json, "trainings", summary.trainings) ||
                          !json_add_count(report->json, "points", summary.points) ||
                          !json_add_count(report->json, "validations", summary.validations);
    return true;
}

/* Returns what tinca import makes of a model's file. */
static const char *describe_import(enum content content, const struct format *format)
{
    return content == CONTENT_SOLVER ? _("; tinca import prints it as options of tinca train")
           : format->carries == CARRIES_NETWORK ? _("; tinca import makes a network file of it")
                                                : _("; tinca import makes a model of it");
}

void format_describe(const char *path, struct exchange_report *report)
{
    const enum content content = content_of(path);
    const struct format *format = format_of_content(content);
    const bool model = format && format->import;
    if (!model && describe_log(path, report))
        return;
    add(report, path, format && format->title ? format->title : content_name(content),
        format && content != CONTENT_SOLVER ? format->carries : 0,
        model ? describe_import(content, format) : "");
}

/* A log is read to its end, so that its points can be counted; of other files the first bytes tell
 * what they are. */
#include "exchange/formats.h"

#include "base/language.h"
#include "exchange/logs/import.h"

static const char *words_of(unsigned carries)
{
    return carries == CARRIES_MODEL     ? N_("a network with its weights")
           : carries == CARRIES_NETWORK ? N_("a network")
           : carries & CARRIES_WEIGHTS  ? N_("arrays of weights or values")
           : carries & CARRIES_RUNS     ? N_("curves and results of runs")
                                        : N_("a picture");
}

/* Describes the log of a training. Returns false if the file has none. */
static bool describe_log(const char *path, struct text *text)
{
    struct import_summary summary;
    if (!import_summarise(path, &summary))
        return false;
    const struct format *format = format_named(summary.framework, CARRIES_LOG);
    exchange_tell(text,
                  _("%s: %s: %zu training, %llu points, %llu validations; tinca import makes a "
                    "run of it\n"),
                  path, gettext(format ? format->title : N_("a log")), summary.trainings,
                  (unsigned long long)summary.points, (unsigned long long)summary.validations);
    return true;
}

bool format_describe(const char *path, struct text *text)
{
    const enum content content = content_of(path);
    const struct format *format = format_of_content(content);
    if (!format || !format->import)
        if (describe_log(path, text))
            return true;
    const char *title = format ? format->title : content_name(content);
    if (!format || !format->import)
        format = format_of_model(path) ? format_of_model(path) : format;
    if (!title && !format) {
        exchange_tell(text, _("%s: nothing that tinca knows\n"), path);
        return false;
    }
    title = title ? title : format->title;
    exchange_tell(text, "%s: %s", path, gettext(title));
    if (format)
        exchange_tell(text, _(": %s"), gettext(words_of(format->carries)));
    exchange_tell(text,
                  format && format->import ? _("; tinca import makes a model of it\n") : "\n");
    return format && format->import;
}

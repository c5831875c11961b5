/* Reads the rows of the comparison for the advice. An unknown answer adds an item to
 * advice->missing: the missing measurement and the command that makes it. Every row that decides
 * something also adds a sentence with its figures, so that the user can check the advice against
 * the table. */
#include "studies/compare/compare_significance.h"
#include "studies/compare/internal.h"

#include "base/escape/shell.h"
#include "base/language.h"
#include "runs/settings/settings.h"
#include "runs/settings/train_command.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const double mega = 1e6;

/* --- notes --- */

void advise_note(struct advise_inquiry *inquiry, const char *format, ...)
{
    struct advice *advice = inquiry->advice;
    va_list arguments;
    if (advice->step_count == ADVISE_STEPS)
        return;
    char *step = advice->steps[advice->step_count];
    va_start(arguments, format);
    vsnprintf(step, sizeof advice->steps[0], gettext(format), arguments);
    va_end(arguments);
    for (size_t i = 0; i < advice->step_count; i++)
        if (strcmp(advice->steps[i], step) == 0)
            return; /* the sentence is already there */
    advice->step_count++;
}

/* Adds a missing item, which the caller completes. Returns NULL if the item is there or the list is
 * full. */
static struct advise_missing *add_missing(struct advise_inquiry *inquiry, const char *what,
                                          const char *command)
{
    struct advice *advice = inquiry->advice;
    for (size_t i = 0; i < advice->missing_count; i++)
        if (strcmp(advice->missing[i].command, command) == 0)
            return NULL;
    if (advice->missing_count == ADVISE_MISSING)
        return NULL;
    struct advise_missing *missing = &advice->missing[advice->missing_count++];
    *missing = (struct advise_missing){.technique = "none"};
    snprintf(missing->what, sizeof missing->what, "%s", what);
    /* a truncated command would do something else */
    snprintf(missing->command, sizeof missing->command, "%s",
             strlen(command) < sizeof missing->command ? command : "");
    return missing;
}

void advise_note_question(struct advise_inquiry *inquiry, enum advise_question question,
                          const char *technique, enum advise_reply answer)
{
    struct advice *advice = inquiry->advice;
    if (advice->path_count < ADVISE_PATH)
        advice->path[advice->path_count++] = (struct advise_decision){
            question, technique, answer, question == ADVISE_POWERFUL && advice->assumed};
}

static void note_row(struct advise_inquiry *inquiry, size_t row)
{
    struct advice *advice = inquiry->advice;
    for (size_t i = 0; i < advice->row_count; i++)
        if (advice->rows[i] == row)
            return;
    if (advice->row_count < ADVISE_ROWS)
        advice->rows[advice->row_count++] = row;
}

/* --- rows --- */

const struct compare_row *advise_row(const struct advise_inquiry *inquiry, size_t row)
{
    return &inquiry->table->rows[row];
}

bool advise_concerns(const struct compare_row *row, const struct advice *advice)
{
    return row->run && strcmp(row->base, advice->network) == 0;
}

size_t advise_find_row(const struct advise_inquiry *inquiry, const char *technique)
{
    size_t found = ADVISE_NO_ROW;
    for (size_t i = 0; i < inquiry->table->count; i++) {
        const struct compare_row *row = advise_row(inquiry, i);
        if (!advise_concerns(row, inquiry->advice) || strcmp(row->technique, technique) != 0 ||
            strcmp(row->data, inquiry->advice->data) != 0 || !(row->figures.model_bytes > 0))
            continue;
        if (found == ADVISE_NO_ROW ||
            !(row->figures.best_top1 < advise_row(inquiry, found)->figures.best_top1))
            found = i;
    }
    return found;
}

const struct measurement *advise_time(const struct advise_inquiry *inquiry, size_t row)
{
    const struct measurement *time =
        measurements_find(&advise_row(inquiry, row)->ms, inquiry->advice->device);
    return time && !time->in_turns ? time : NULL; /* turns give no interval */
}

/* --- what is missing --- */

void advise_note_untrained(struct advise_inquiry *inquiry, const char *technique)
{
    const struct advice *advice = inquiry->advice;
    const struct run *like = NULL;
    struct text command = {0};
    char what[160];
    for (size_t i = 0; i < inquiry->table->count; i++)
        if (advise_concerns(advise_row(inquiry, i), advice) &&
            (!like || strcmp(advise_row(inquiry, i)->technique, "none") == 0))
            like = advise_row(inquiry, i)->run;
    const struct run_config *config = like ? run_config(like) : NULL;
    bool plain = strcmp(technique, "none") == 0;
    if (config) {
        bool path = strchr(network_settings(config).network, '/') != NULL;
        train_command_append(&command, config,
                             path ? network_settings(config).network : advice->network, technique);
    } else {
        char network[288];
        snprintf(network, sizeof network, "%s%s%s", advice->network, plain ? "" : "-",
                 plain ? "" : technique);
        text_append(&command, "tinca train ");
        shell_word_append(&command, network);
        text_append(&command, " --data SPEC --validate SPEC");
    }
    snprintf(what, sizeof what, _("%.64s%s%s is not trained (then: tinca measure RUN --device %s)"),
             advice->network, plain ? "" : "-", plain ? "" : technique, advice->device);
    struct advise_missing *missing = add_missing(inquiry, what, command.data ? command.data : "");
    if (missing) {
        missing->training = true;
        missing->technique = technique;
        missing->run = like;
    }
    text_free(&command);
}

enum lack { LACKS_MS, LACKS_ACCURACY };

static void note_unmeasured(struct advise_inquiry *inquiry, size_t row, enum lack figure)
{
    static const char *const figures[] = {
        [LACKS_MS] = N_("ms of %s on %s"),
        [LACKS_ACCURACY] = N_("accuracy of %s on %s"),
    };
    char command[1024], text[160];
    compare_measure_command(inquiry->table, row, inquiry->advice->device, command, sizeof command);
    snprintf(text, sizeof text, gettext(figures[figure]), advise_row(inquiry, row)->network,
             inquiry->advice->device);
    struct advise_missing *missing = add_missing(inquiry, text, command);
    if (missing) {
        missing->run = advise_row(inquiry, row)->run;
        missing->threads = compare_threads(inquiry->table, inquiry->advice->device);
    }
}

/* --- requirements --- */

/* Returns ADVISE_YES if the mean time and its whole confidence interval are within the limit. */
static enum advise_reply is_within_limit(struct advise_inquiry *inquiry, size_t row)
{
    double limit = inquiry->request->limit_ms;
    const struct measurement *time = advise_time(inquiry, row);
    if (!time) {
        note_unmeasured(inquiry, row, LACKS_MS);
        return ADVISE_UNKNOWN;
    }
    const struct statistics *ms = &time->ms_per_image;
    bool within = ms->mean + (isfinite(ms->ci95) ? ms->ci95 : 0) <= limit;
    note_row(inquiry, row);
    advise_note(inquiry,
                within ? N_("%s takes %s ms on %s: within the limit of %.4g ms.")
                       : N_("%s takes %s ms on %s: not within the limit of %.4g ms."),
                advise_row(inquiry, row)->network, STATISTICS_MEAN(ms->mean, ms->ci95),
                time->on.device, limit);
    return within ? ADVISE_YES : ADVISE_NO;
}

/* Adds the missing turns of a row and the network without a technique, and the command that takes
 * them. */
static void note_no_turns(struct advise_inquiry *inquiry, size_t row)
{
    const struct compare_row *with = advise_row(inquiry, row),
                             *plain = advise_row(inquiry, inquiry->plain);
    const char *device = inquiry->advice->device;
    const size_t threads = compare_threads(inquiry->table, device);
    struct text command = {0};
    char what[160];
    snprintf(what, sizeof what, _("times of %.40s and %.40s in turns on %.40s"), with->network,
             plain->network, device);
    text_append(&command, "tinca compare ");
    shell_word_append(&command, with->seeds.runs > 0 ? run_facts(with->run)->id : with->name);
    text_append(&command, " ");
    shell_word_append(&command, plain->seeds.runs > 0 ? run_facts(plain->run)->id : plain->name);
    text_append(&command, " --measure --device ");
    shell_word_append(&command, device);
    if (threads > 0)
        text_append(&command, " --threads %zu", threads);
    struct advise_missing *missing = add_missing(inquiry, what, command.data ? command.data : "");
    if (missing) {
        missing->run = with->run;
        missing->other = plain->run;
        missing->threads = threads;
    }
    text_free(&command);
}

struct compare_test advise_test_times(const struct advise_inquiry *inquiry, size_t row)
{
    const struct comparison *table = inquiry->table;
    struct compare_test test = {.kind = TEST_NONE, .ratio = NAN};
    size_t device = 0;
    while (device < table->device_count &&
           strcmp(table->devices[device], inquiry->advice->device) != 0)
        device++;
    for (size_t i = 0; device == table->device_count && i < table->device_count; i++)
        if (strncmp(table->devices[i], inquiry->advice->device, strlen(inquiry->advice->device)) ==
            0)
            device = i; /* "cuda" also names "cuda:0" */
    if (inquiry->plain != ADVISE_NO_ROW && device < table->device_count)
        test = compare_test_times(table, device, row, inquiry->plain);
    return test;
}

enum advise_reply advise_is_faster(struct advise_inquiry *inquiry, size_t row)
{
    char words[400];
    if (inquiry->plain == ADVISE_NO_ROW) {
        advise_note_untrained(inquiry, "none");
        return ADVISE_UNKNOWN;
    }
    const struct compare_test test = advise_test_times(inquiry, row);
    const char *name = advise_row(inquiry, row)->network,
               *plain = advise_row(inquiry, inquiry->plain)->network;
    compare_test_text(&test, words, sizeof words);
    if (test.kind == TEST_NONE) {
        if (isfinite(test.ratio))
            advise_note(inquiry,
                        N_("%s takes %.4g times as long as %s on %s, without a verdict: %s."), name,
                        test.ratio, plain, inquiry->advice->device, words);
        note_no_turns(inquiry, row);
        return ADVISE_UNKNOWN;
    }
    note_row(inquiry, inquiry->plain);
    note_row(inquiry, row);
    advise_note(inquiry,
                !test.differs    ? N_("%s takes %.4g times as long as %s on %s: no difference is "
                                         "shown (%s).")
                : test.ratio < 1 ? N_("%s takes %.4g times as long as %s on %s: faster (%s).")
                                 : N_("%s takes %.4g times as long as %s on %s: slower (%s)."),
                name, test.ratio, plain, inquiry->advice->device, words);
    return test.differs && test.ratio < 1 ? ADVISE_YES : ADVISE_NO;
}

enum advise_reply advise_is_fast(struct advise_inquiry *inquiry, size_t row)
{
    if (isfinite(inquiry->request->limit_ms))
        return is_within_limit(inquiry, row);
    return row == inquiry->plain ? ADVISE_NO : advise_is_faster(inquiry, row);
}

enum advise_reply advise_is_small(struct advise_inquiry *inquiry, size_t row)
{
    double limit = inquiry->request->limit_mb;
    double size = advise_row(inquiry, row)->figures.model_bytes / mega;
    const char *name = advise_row(inquiry, row)->network;
    note_row(inquiry, row);
    if (isfinite(limit)) {
        advise_note(inquiry,
                    size <= limit ? N_("%s takes %.4g MB: within the limit of %.4g MB.")
                                  : N_("%s takes %.4g MB: not within the limit of %.4g MB."),
                    name, size, limit);
        return size <= limit ? ADVISE_YES : ADVISE_NO;
    }
    if (row == inquiry->plain)
        return ADVISE_NO;
    if (inquiry->plain == ADVISE_NO_ROW) {
        advise_note_untrained(inquiry, "none");
        return ADVISE_UNKNOWN;
    }
    double before = advise_row(inquiry, inquiry->plain)->figures.model_bytes / mega;
    advise_note(inquiry,
                size < before ? N_("%s takes %.4g MB, %s %.4g MB: smaller.")
                              : N_("%s takes %.4g MB, %s %.4g MB: not smaller."),
                name, size, advise_row(inquiry, inquiry->plain)->network, before);
    return size < before ? ADVISE_YES : ADVISE_NO;
}

/* Adds the test of the two accuracies. Returns whether it shows that they do not differ. */
static bool note_test(struct advise_inquiry *inquiry, size_t row)
{
    char words[260];
    const struct compare_test test = compare_test_rows(inquiry->table, inquiry->plain, row);
    if (row == inquiry->plain)
        return false;
    compare_test_text(&test, words, sizeof words);
    advise_note(inquiry,
                test.kind == TEST_NONE ? N_("Accuracies: %s.")
                : test.differs         ? N_("The accuracies differ (%s).")
                                       : N_("No difference of the accuracies is shown (%s)."),
                words);
    return test.kind != TEST_NONE && !test.differs;
}

enum advise_reply advise_is_accurate(struct advise_inquiry *inquiry, size_t row)
{
    const struct compare_row *with = advise_row(inquiry, row);
    if (inquiry->plain == ADVISE_NO_ROW) {
        advise_note_untrained(inquiry, "none");
        return ADVISE_UNKNOWN;
    }
    const struct compare_row *without = advise_row(inquiry, inquiry->plain);
    if (isnan(with->figures.best_top1))
        note_unmeasured(inquiry, row, LACKS_ACCURACY);
    if (isnan(without->figures.best_top1))
        note_unmeasured(inquiry, inquiry->plain, LACKS_ACCURACY);
    if (isnan(with->figures.best_top1) || isnan(without->figures.best_top1))
        return ADVISE_UNKNOWN;
    double lost = without->figures.best_top1 - with->figures.best_top1,
           accepted = inquiry->request->accept_loss;
    note_row(inquiry, inquiry->plain);
    note_row(inquiry, row);
    advise_note(
        inquiry,
        lost > accepted
            ? N_("%s has %.2f %%, %s %.2f %%: %.2f points lost, too many (accepted: %.4g).")
        : lost > 0
            ? N_("%s has %.2f %%, %s %.2f %%: %.2f points lost, acceptable (accepted: %.4g).")
            : N_("%s has %.2f %%, %s %.2f %%: %.2f points gained, acceptable (accepted: %.4g)."),
        with->network, with->figures.best_top1, without->network, without->figures.best_top1,
        fabs(lost), accepted);
    return note_test(inquiry, row) || lost <= accepted ? ADVISE_YES : ADVISE_NO;
}

/* Walks through the flowchart: chooses network, data set and device, answers the questions from the
 * rows of the comparison, and draws the conclusion.
 *
 * An unknown answer adds an item to advice->missing: the missing measurement and the command that
 * makes it. Every row that decides something also adds a sentence with its figures, so that the
 * user can check the advice against the table. */
#include "studies/compare/advise.h"

#include "base/escape/shell.h"
#include "base/language.h"
#include "runs/settings/settings.h"
#include "runs/settings/train_command.h"
#include "runs/values/run_facts.h"
#include "studies/compare/compare_significance.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define ADVISE_NO_ROW SIZE_MAX

struct advise_inquiry {
    const struct comparison *table;
    const struct advise_request *request;
    struct advice *advice;
    size_t plain; /* the row of the network without a technique, or ADVISE_NO_ROW */
};

/* --- the evidence: what the rows say --- */

static const double mega = 1e6;

/* --- notes --- */

/* Adds a sentence to the reasons, translated, unless it is there already. */
__attribute__((format(printf, 2, 3))) static void note(struct advise_inquiry *inquiry,
                                                       const char *format, ...)
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

/* Adds a question of the flowchart with its answer. */
static void note_question(struct advise_inquiry *inquiry, enum advise_question question,
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

/* Returns a row of the comparison. */
static const struct compare_row *row_of(const struct advise_inquiry *inquiry, size_t row)
{
    return &inquiry->table->rows[row];
}

/* Returns whether the row is a run of the network in question, with any technique. */
static bool concerns(const struct compare_row *row, const struct advice *advice)
{
    return row->run && strcmp(row->base, advice->network) == 0;
}

/* Returns the most accurate run of the technique on advice->data, or ADVISE_NO_ROW. */
static size_t find_row(const struct advise_inquiry *inquiry, const char *technique)
{
    size_t found = ADVISE_NO_ROW;
    for (size_t i = 0; i < inquiry->table->count; i++) {
        const struct compare_row *row = row_of(inquiry, i);
        if (!concerns(row, inquiry->advice) || strcmp(row->technique, technique) != 0 ||
            strcmp(row->data, inquiry->advice->data) != 0 || !(row->figures.model_bytes > 0))
            continue;
        if (found == ADVISE_NO_ROW ||
            !(row->figures.best_top1 < row_of(inquiry, found)->figures.best_top1))
            found = i;
    }
    return found;
}

/* Returns the row's time on advice->device, or NULL. */
static const struct measurement *time_of(const struct advise_inquiry *inquiry, size_t row)
{
    const struct measurement *time =
        measurements_find(&row_of(inquiry, row)->ms, inquiry->advice->device);
    return time && !time->in_turns ? time : NULL; /* turns give no interval */
}

/* --- what is missing --- */

/* Adds to advice->missing a run of the network with `technique`, and the command that trains it
 * with the other settings of an existing run. */
static void note_untrained(struct advise_inquiry *inquiry, const char *technique)
{
    const struct advice *advice = inquiry->advice;
    const struct run *like = NULL;
    struct text command = {0};
    char what[160];
    for (size_t i = 0; i < inquiry->table->count; i++)
        if (concerns(row_of(inquiry, i), advice) &&
            (!like || strcmp(row_of(inquiry, i)->technique, "none") == 0))
            like = row_of(inquiry, i)->run;
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
    snprintf(text, sizeof text, gettext(figures[figure]), row_of(inquiry, row)->network,
             inquiry->advice->device);
    struct advise_missing *missing = add_missing(inquiry, text, command);
    if (missing) {
        missing->run = row_of(inquiry, row)->run;
        missing->threads = compare_threads(inquiry->table, inquiry->advice->device);
    }
}

/* --- requirements --- */

/* Returns ADVISE_YES if the mean time and its whole confidence interval are within the limit. */
static enum advise_reply is_within_limit(struct advise_inquiry *inquiry, size_t row)
{
    double limit = inquiry->request->limit_ms;
    const struct measurement *time = time_of(inquiry, row);
    if (!time) {
        note_unmeasured(inquiry, row, LACKS_MS);
        return ADVISE_UNKNOWN;
    }
    const struct statistics *ms = &time->ms_per_image;
    bool within = ms->mean + (isfinite(ms->ci95) ? ms->ci95 : 0) <= limit;
    note_row(inquiry, row);
    note(inquiry,
         within ? N_("%s takes %s ms on %s: within the limit of %.4g ms.")
                : N_("%s takes %s ms on %s: not within the limit of %.4g ms."),
         row_of(inquiry, row)->network, STATISTICS_MEAN(ms->mean, ms->ci95), time->on.device,
         limit);
    return within ? ADVISE_YES : ADVISE_NO;
}

/* Adds the missing turns of a row and the network without a technique, and the command that takes
 * them. */
static void note_no_turns(struct advise_inquiry *inquiry, size_t row)
{
    const struct compare_row *with = row_of(inquiry, row), *plain = row_of(inquiry, inquiry->plain);
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

/* Returns what is known of the row's time and that of the network without a technique. */
static struct compare_test test_times(const struct advise_inquiry *inquiry, size_t row)
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

/* Each of the following returns whether the run of a row meets a requirement. An unknown answer
 * adds an item to advice->missing. This one compares with the network without a technique. */
static enum advise_reply is_faster(struct advise_inquiry *inquiry, size_t row)
{
    char words[400];
    if (inquiry->plain == ADVISE_NO_ROW) {
        note_untrained(inquiry, "none");
        return ADVISE_UNKNOWN;
    }
    const struct compare_test test = test_times(inquiry, row);
    const char *name = row_of(inquiry, row)->network,
               *plain = row_of(inquiry, inquiry->plain)->network;
    compare_test_text(&test, words, sizeof words);
    if (test.kind == TEST_NONE) {
        if (isfinite(test.ratio))
            note(inquiry, N_("%s takes %.4g times as long as %s on %s, without a verdict: %s."),
                 name, test.ratio, plain, inquiry->advice->device, words);
        note_no_turns(inquiry, row);
        return ADVISE_UNKNOWN;
    }
    note_row(inquiry, inquiry->plain);
    note_row(inquiry, row);
    note(inquiry,
         !test.differs    ? N_("%s takes %.4g times as long as %s on %s: no difference is "
                                  "shown (%s).")
         : test.ratio < 1 ? N_("%s takes %.4g times as long as %s on %s: faster (%s).")
                          : N_("%s takes %.4g times as long as %s on %s: slower (%s)."),
         name, test.ratio, plain, inquiry->advice->device, words);
    return test.differs && test.ratio < 1 ? ADVISE_YES : ADVISE_NO;
}

/* Does so unless there is a limit in ms. */
static enum advise_reply is_fast(struct advise_inquiry *inquiry, size_t row)
{
    if (isfinite(inquiry->request->limit_ms))
        return is_within_limit(inquiry, row);
    return row == inquiry->plain ? ADVISE_NO : is_faster(inquiry, row);
}

static enum advise_reply is_small(struct advise_inquiry *inquiry, size_t row)
{
    double limit = inquiry->request->limit_mb;
    double size = row_of(inquiry, row)->figures.model_bytes / mega;
    const char *name = row_of(inquiry, row)->network;
    note_row(inquiry, row);
    if (isfinite(limit)) {
        note(inquiry,
             size <= limit ? N_("%s takes %.4g MB: within the limit of %.4g MB.")
                           : N_("%s takes %.4g MB: not within the limit of %.4g MB."),
             name, size, limit);
        return size <= limit ? ADVISE_YES : ADVISE_NO;
    }
    if (row == inquiry->plain)
        return ADVISE_NO;
    if (inquiry->plain == ADVISE_NO_ROW) {
        note_untrained(inquiry, "none");
        return ADVISE_UNKNOWN;
    }
    double before = row_of(inquiry, inquiry->plain)->figures.model_bytes / mega;
    note(inquiry,
         size < before ? N_("%s takes %.4g MB, %s %.4g MB: smaller.")
                       : N_("%s takes %.4g MB, %s %.4g MB: not smaller."),
         name, size, row_of(inquiry, inquiry->plain)->network, before);
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
    note(inquiry,
         test.kind == TEST_NONE ? N_("Accuracies: %s.")
         : test.differs         ? N_("The accuracies differ (%s).")
                                : N_("No difference of the accuracies is shown (%s)."),
         words);
    return test.kind != TEST_NONE && !test.differs;
}

static enum advise_reply is_accurate(struct advise_inquiry *inquiry, size_t row)
{
    const struct compare_row *with = row_of(inquiry, row);
    if (inquiry->plain == ADVISE_NO_ROW) {
        note_untrained(inquiry, "none");
        return ADVISE_UNKNOWN;
    }
    const struct compare_row *without = row_of(inquiry, inquiry->plain);
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
    note(inquiry,
         lost > accepted
             ? N_("%s has %.2f %%, %s %.2f %%: %.2f points lost, too many (accepted: %.4g).")
         : lost > 0
             ? N_("%s has %.2f %%, %s %.2f %%: %.2f points lost, acceptable (accepted: %.4g).")
             : N_("%s has %.2f %%, %s %.2f %%: %.2f points gained, acceptable (accepted: %.4g)."),
         with->network, with->figures.best_top1, without->network, without->figures.best_top1,
         fabs(lost), accepted);
    return note_test(inquiry, row) || lost <= accepted ? ADVISE_YES : ADVISE_NO;
}

/* --- names --- */

const char *const advise_need_names[] = {
    [ADVISE_FASTER] = "faster", [ADVISE_SMALLER] = "smaller", [ADVISE_BOTH] = "both", NULL};

const char *advise_verdict_name(enum advise_verdict verdict)
{
    static const char *const names[] = {[ADVISE_KEEP] = "keep",
                                        [ADVISE_USE] = "use",
                                        [ADVISE_TRY] = "try",
                                        [ADVISE_MEASURE] = "measure",
                                        [ADVISE_ELSEWHERE] = "elsewhere"};
    return names[verdict];
}

bool advise_reads(const struct run_facts *facts)
{
    return !facts->imported[0] && !strchr(facts->network, '+');
}

/* --- the device --- */

/* Sets advice->device. "weak" and "powerful" select the first measured device of that kind. */
static void choose_device(struct advise_inquiry *inquiry)
{
    struct advice *advice = inquiry->advice;
    const struct comparison *table = inquiry->table;
    bool powerful = strcmp(inquiry->request->device, "powerful") == 0;
    bool weak = strcmp(inquiry->request->device, "weak") == 0;
    snprintf(advice->device, sizeof advice->device, "%s",
             powerful ? "cuda"
             : weak   ? "cpu"
                      : inquiry->request->device);
    for (size_t i = 0; (powerful || weak) && i < table->device_count - table->published_devices;
         i++)
        if ((strncmp(table->devices[i], "cuda", 4) == 0) == powerful) {
            snprintf(advice->device, sizeof advice->device, "%s", table->devices[i]);
            break;
        }
}

static void judge_device(struct advise_inquiry *inquiry)
{
    struct advice *advice = inquiry->advice;
    const char *asked = inquiry->request->device;
    size_t shift = find_row(inquiry, "shift");
    advice->powerful = strcmp(asked, "powerful") == 0;
    if (advice->powerful || strcmp(asked, "weak") == 0)
        return;
    if (shift != ADVISE_NO_ROW && test_times(inquiry, shift).kind != TEST_NONE) {
        advice->powerful = is_faster(inquiry, shift) != ADVISE_YES;
        return;
    }
    advice->assumed = true;
    advice->powerful = strncmp(advice->device, "cuda", 4) == 0;
    note(inquiry,
         advice->powerful
             ? N_("Whether shift is faster on %s was not measured in turns; it is assumed that it "
                  "is "
                  "not, as the studies found on a powerful device.")
             : N_("Whether shift is faster on %s was not measured in turns; it is assumed that it "
                  "is, as the studies found on a weak device."),
         advice->device);
}

/* --- the flowchart --- */

static void conclude(struct advise_inquiry *inquiry, enum advise_verdict verdict,
                     const char *technique)
{
    inquiry->advice->verdict = verdict;
    inquiry->advice->technique = technique;
}

/* Returns ADVISE_YES only if the run of a technique meets every requirement that was asked for. */
static enum advise_reply judge(struct advise_inquiry *inquiry, size_t row, bool latency, bool size)
{
    enum advise_reply fast = latency ? is_fast(inquiry, row) : ADVISE_YES;
    enum advise_reply small = size ? is_small(inquiry, row) : ADVISE_YES;
    enum advise_reply accurate = is_accurate(inquiry, row);
    if (fast == ADVISE_NO || small == ADVISE_NO || accurate == ADVISE_NO)
        return ADVISE_NO;
    return fast == ADVISE_UNKNOWN || small == ADVISE_UNKNOWN || accurate == ADVISE_UNKNOWN
               ? ADVISE_UNKNOWN
               : ADVISE_YES;
}

static void try_techniques(struct advise_inquiry *inquiry, bool latency, bool size)
{
    static const char *const order[] = {"shift", "dsc", "shuffle"};
    size_t count = latency ? 1 : sizeof order / sizeof *order;
    if (latency && size)
        note(inquiry, N_("Latency matters as well, so only shift is considered."));
    for (size_t i = 0; i < count; i++) {
        size_t row = find_row(inquiry, order[i]);
        enum advise_reply answer =
            row == ADVISE_NO_ROW ? ADVISE_UNKNOWN : judge(inquiry, row, latency, size);
        if (row == ADVISE_NO_ROW) {
            note(inquiry, N_("%s comes next; no run of it was found."), order[i]);
            note_untrained(inquiry, order[i]);
        }
        note_question(inquiry, ADVISE_SUFFICES, order[i], answer);
        if (answer != ADVISE_NO) {
            conclude(inquiry, answer == ADVISE_YES ? ADVISE_USE : ADVISE_TRY, order[i]);
            return;
        }
        note(inquiry, N_("So %s does not meet the requirements."), order[i]);
    }
    note(inquiry, N_("Look elsewhere: a smaller network, width rates, precision, pruning."));
    conclude(inquiry, ADVISE_ELSEWHERE, "none");
}

static void follow(struct advise_inquiry *inquiry)
{
    enum advise_need need = inquiry->request->need;
    bool latency = need != ADVISE_SMALLER, size = need != ADVISE_FASTER;
    enum advise_reply fast = ADVISE_UNKNOWN, small = ADVISE_UNKNOWN;
    inquiry->plain = find_row(inquiry, "none");
    if (inquiry->plain == ADVISE_NO_ROW) {
        note(inquiry, N_("No run of %s without a technique was found."), inquiry->advice->network);
        note_untrained(inquiry, "none");
    } else {
        fast = latency ? is_fast(inquiry, inquiry->plain) : ADVISE_YES;
        small = size ? is_small(inquiry, inquiry->plain) : ADVISE_YES;
    }
    note_question(inquiry, ADVISE_MEETS, NULL,
                  fast == ADVISE_YES && small == ADVISE_YES ? ADVISE_YES
                  : fast == ADVISE_NO || small == ADVISE_NO ? ADVISE_NO
                                                            : ADVISE_UNKNOWN);
    if (fast == ADVISE_YES && small == ADVISE_YES) {
        note(inquiry, N_("It meets the requirements as it is: leave it alone."));
        conclude(inquiry, ADVISE_KEEP, "none");
        return;
    }
    note_question(inquiry, ADVISE_NEEDS_SPEED, NULL,
                  latency && fast != ADVISE_YES ? ADVISE_YES : ADVISE_NO);
    if (latency && fast != ADVISE_YES) {
        judge_device(inquiry);
        note_question(inquiry, ADVISE_POWERFUL, NULL,
                      inquiry->advice->powerful ? ADVISE_YES : ADVISE_NO);
    }
    if (latency && fast != ADVISE_YES && inquiry->advice->powerful) {
        bool open = fast == ADVISE_UNKNOWN && isfinite(inquiry->request->limit_ms);
        note(inquiry,
             open ? N_("On a powerful device the techniques do not make a network faster: if it "
                       "does not meet the limit as it is, look elsewhere (precision, batch, "
                       "pruning).")
                  : N_("On a powerful device the techniques do not make a network faster: look "
                       "elsewhere (precision, batch, pruning)."));
        if (size && small != ADVISE_YES)
            note(inquiry, N_("To be smaller alone is another question: --need smaller."));
        conclude(inquiry, open ? ADVISE_MEASURE : ADVISE_ELSEWHERE, "none");
        return;
    }
    try_techniques(inquiry, latency, size);
    if (inquiry->advice->verdict == ADVISE_USE &&
        (fast == ADVISE_UNKNOWN || small == ADVISE_UNKNOWN)) {
        note(inquiry, N_("Whether the network meets the limits without it is not known."));
        inquiry->advice->verdict = ADVISE_TRY;
    }
}

/* --- network and data set --- */

/* Refuses the name of a network with a technique: the question concerns the plain network. */
static bool check_name(const char *network, struct error *error)
{
    static const char *const suffixes[] = {"-dsc", "-shuffle", "-shift"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        const char *found = strstr(network, suffixes[i]);
        size_t length = strlen(suffixes[i]);
        if (found && (found[length] == '\0' || found[length] == '-'))
            return error_set(error, ERROR_USAGE, network, "name it without",
                             "the network must be named without a technique");
    }
    return true;
}

static bool choose_network(struct advise_inquiry *inquiry, struct error *error)
{
    struct advice *advice = inquiry->advice;
    if (inquiry->request->network) {
        snprintf(advice->network, sizeof advice->network, "%s", inquiry->request->network);
        return check_name(inquiry->request->network, error);
    }
    for (size_t i = 0; i < inquiry->table->count; i++) {
        const struct compare_row *row = row_of(inquiry, i);
        if (row->run && advice->network[0] && strcmp(row->base, advice->network) != 0)
            return error_set(error, ERROR_USAGE, OPTION(network), "give --network NET",
                             "there are runs of several networks: %s, %s and perhaps others",
                             advice->network, row->base);
        if (row->run)
            snprintf(advice->network, sizeof advice->network, "%s", row->base);
    }
    return advice->network[0] ||
           error_set(error, ERROR_USAGE, OPTION(network), "give --network NET",
                     "there are no runs from which to take the network");
}

/* Sets advice->data, the data set on which accuracies are compared: that of the latest run,
 * preferably of one without a technique. */
static void choose_data(struct advise_inquiry *inquiry)
{
    struct advice *advice = inquiry->advice;
    bool plain = false;
    for (size_t i = 0; i < inquiry->table->count; i++) {
        const struct compare_row *row = row_of(inquiry, i);
        bool is_plain = strcmp(row->technique, "none") == 0;
        if (!concerns(row, advice) || !(row->figures.model_bytes > 0) || (plain && !is_plain))
            continue;
        snprintf(advice->data, sizeof advice->data, "%s", row->data);
        plain = is_plain;
    }
}

bool advise(const struct comparison *comparison, const struct advise_request *request,
            struct advice *advice, struct error *error)
{
    struct advise_inquiry inquiry = {
        .table = comparison, .request = request, .advice = advice, .plain = ADVISE_NO_ROW};
    *advice = (struct advice){.technique = "none"};
    if (!choose_network(&inquiry, error))
        return false;
    choose_data(&inquiry);
    choose_device(&inquiry);
    follow(&inquiry);
    return true;
}

/* --- JSON --- */

static bool add_limits(const struct advise_request *request, struct json *root)
{
    struct json *limits = json_add_object(root, "limits");
    return json_add_number(limits, "ms", request->limit_ms) &&
           json_add_number(limits, "mb", request->limit_mb) &&
           json_add_number(limits, "accuracy_loss", request->accept_loss);
}

static bool add_lists(const struct comparison *comparison, const struct advice *advice,
                      struct json *root)
{
    struct json *steps = json_add_array(root, "steps"), *rows = json_add_array(root, "rows_read");
    struct json *unknown = json_add_array(root, "not_known");
    bool added = steps && rows && unknown;
    for (size_t i = 0; i < advice->step_count; i++)
        added = added && json_add_string(steps, NULL, advice->steps[i]);
    for (size_t i = 0; i < advice->row_count; i++)
        added =
            added && compare_row_to_json(comparison, advice->rows[i], json_add_object(rows, NULL));
    for (size_t i = 0; i < advice->missing_count; i++) {
        struct json *item = json_add_object(unknown, NULL);
        added = added && json_add_string(item, "what", advice->missing[i].what) &&
                json_add_string(item, "command", advice->missing[i].command);
    }
    return added;
}

struct json *advise_to_json(const struct comparison *comparison,
                            const struct advise_request *request, const struct advice *advice)
{
    struct json *root = json_new_object();
    bool complete = json_add_string(root, "network", advice->network) &&
                    json_add_string(root, "need", advise_need_names[request->need]) &&
                    json_add_string(root, "device", advice->device) &&
                    json_add_string(root, "data", advice->data) && add_limits(request, root) &&
                    json_add_string(root, "verdict", advise_verdict_name(advice->verdict)) &&
                    json_add_string(root, "technique", advice->technique) &&
                    json_add_bool(root, "assumed", advice->assumed) &&
                    add_lists(comparison, advice, root);
    if (complete)
        return root;
    json_free(root);
    return NULL;
}

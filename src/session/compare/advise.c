/* Walks through the flowchart and answers each question from rows of the comparison.
 *
 * A requirement is met, not met, or unknown. An unknown answer adds a gap: the missing measurement
 * and the command that makes it. Every row that decides something also adds a sentence with its
 * figures, so that the user can check the advice against the table.
 */
#include "session/compare/advise.h"

#include "base/language.h"
#include "base/shell.h"
#include "session/config/train_command.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum answer { NO = ADVISE_NO, YES = ADVISE_YES, UNKNOWN = ADVISE_UNKNOWN };
static const size_t no_row = (size_t)-1;
static const double mega = 1e6;

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

struct inquiry {
    const struct comparison *table;
    const struct advise_request *request;
    struct advice *advice;
    size_t plain; /* the row of the network without a technique, or no_row */
};

/* --- notes --- */

__attribute__((format(printf, 2, 3))) static void note(struct inquiry *inquiry, const char *format,
                                                       ...)
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

/* Adds a gap, which the caller completes. Returns NULL if the gap is already there or the list is
 * full. */
static struct advise_gap *note_gap(struct inquiry *inquiry, const char *what, const char *command)
{
    struct advice *advice = inquiry->advice;
    for (size_t i = 0; i < advice->gap_count; i++)
        if (strcmp(advice->gaps[i].command, command) == 0)
            return NULL;
    if (advice->gap_count == ADVISE_GAPS)
        return NULL;
    struct advise_gap *gap = &advice->gaps[advice->gap_count++];
    *gap = (struct advise_gap){.technique = "none"};
    snprintf(gap->what, sizeof gap->what, "%s", what);
    /* a truncated command would do something else */
    snprintf(gap->command, sizeof gap->command, "%s",
             strlen(command) < sizeof gap->command ? command : "");
    return gap;
}

static void note_fork(struct inquiry *inquiry, enum advise_question question, const char *technique,
                      enum answer answer)
{
    struct advice *advice = inquiry->advice;
    if (advice->path_count < ADVISE_PATH)
        advice->path[advice->path_count++] =
            (struct advise_fork){question, technique, (enum advise_reply)answer,
                                 question == ADVISE_POWERFUL && advice->assumed};
}

static void note_row(struct inquiry *inquiry, size_t row)
{
    struct advice *advice = inquiry->advice;
    for (size_t i = 0; i < advice->row_count; i++)
        if (advice->rows[i] == row)
            return;
    if (advice->row_count < ADVISE_ROWS)
        advice->rows[advice->row_count++] = row;
}

/* --- rows --- */

static const struct compare_row *row_at(const struct inquiry *inquiry, size_t row)
{
    return &inquiry->table->rows[row];
}

static bool is_of(const struct compare_row *row, const struct advice *advice)
{
    return row->run && strcmp(row->base, advice->network) == 0;
}

/* Returns the most accurate run of the technique on advice->data, or no_row. */
static size_t find_row(const struct inquiry *inquiry, const char *technique)
{
    size_t found = no_row;
    for (size_t i = 0; i < inquiry->table->count; i++) {
        const struct compare_row *row = row_at(inquiry, i);
        if (!is_of(row, inquiry->advice) || strcmp(row->technique, technique) != 0 ||
            strcmp(row->data, inquiry->advice->data) != 0 || row->model_bytes == 0)
            continue;
        if (found == no_row || !(row->top1 < row_at(inquiry, found)->top1))
            found = i;
    }
    return found;
}

static const struct measurement *time_of(const struct inquiry *inquiry, size_t row)
{
    return measurements_find(&row_at(inquiry, row)->ms, inquiry->advice->device);
}

/* --- gaps --- */

/* Adds a gap with the command that trains the network with `technique` and otherwise the settings
 * of an existing run. */
static void note_untrained(struct inquiry *inquiry, const char *technique)
{
    const struct advice *advice = inquiry->advice;
    const struct run *like = NULL;
    struct text command = {0};
    char what[160];
    for (size_t i = 0; i < inquiry->table->count; i++)
        if (is_of(row_at(inquiry, i), advice) &&
            (!like || strcmp(row_at(inquiry, i)->technique, "none") == 0))
            like = row_at(inquiry, i)->run;
    const struct run_config *config = like ? run_config(like) : NULL;
    bool plain = strcmp(technique, "none") == 0;
    if (config) {
        bool path = strchr(config->network, '/') != NULL;
        train_command_append(&command, config, path ? config->network : advice->network, technique);
    } else {
        char network[160];
        snprintf(network, sizeof network, "%s%s%s", advice->network, plain ? "" : "-",
                 plain ? "" : technique);
        text_append(&command, "tinca train ");
        shell_word_append(&command, network);
        text_append(&command, " --data SPEC --validate SPEC");
    }
    snprintf(what, sizeof what, _("%.64s%s%s is not trained (then: tinca measure RUN --device %s)"),
             advice->network, plain ? "" : "-", plain ? "" : technique, advice->device);
    struct advise_gap *gap = note_gap(inquiry, what, command.data ? command.data : "");
    if (gap) {
        gap->training = true;
        gap->technique = technique;
        gap->run = like;
    }
    text_free(&command);
}

enum figure { FIGURE_MS, FIGURE_COMPARABLE_MS, FIGURE_ACCURACY };

static void note_unmeasured(struct inquiry *inquiry, size_t row, enum figure figure)
{
    static const char *const figures[] = {
        [FIGURE_MS] = N_("ms of %s on %s"),
        [FIGURE_COMPARABLE_MS] = N_("comparable ms of %s on %s"),
        [FIGURE_ACCURACY] = N_("accuracy of %s on %s"),
    };
    char command[1024], text[160];
    compare_measure_command(inquiry->table, row, inquiry->advice->device, command, sizeof command);
    snprintf(text, sizeof text, gettext(figures[figure]), row_at(inquiry, row)->network,
             inquiry->advice->device);
    struct advise_gap *gap = note_gap(inquiry, text, command);
    if (gap) {
        gap->run = row_at(inquiry, row)->run;
        gap->threads = compare_threads(inquiry->table, inquiry->advice->device);
    }
}

/* --- requirements --- */

/* Returns YES if the mean time and its whole confidence interval are within the limit. */
static enum answer is_within_limit(struct inquiry *inquiry, size_t row)
{
    double limit = inquiry->request->limit_ms;
    const struct measurement *time = time_of(inquiry, row);
    if (!time) {
        note_unmeasured(inquiry, row, FIGURE_MS);
        return UNKNOWN;
    }
    const struct statistics *ms = &time->ms_per_image;
    bool within = ms->mean + (isfinite(ms->ci95) ? ms->ci95 : 0) <= limit;
    note_row(inquiry, row);
    note(inquiry,
         within ? N_("%s takes %.4g +- %s ms on %s: within the limit of %.4g ms.")
                : N_("%s takes %.4g +- %s ms on %s: not within the limit of %.4g ms."),
         row_at(inquiry, row)->network, ms->mean, STATISTICS_SPREAD(ms->ci95), time->device, limit);
    return within ? YES : NO;
}

/* Returns true if this row and the plain one have comparable times on the device; else adds a gap.
 */
static bool have_times(struct inquiry *inquiry, size_t row)
{
    const struct measurement *time = time_of(inquiry, row);
    const struct measurement *plain =
        inquiry->plain == no_row ? NULL : time_of(inquiry, inquiry->plain);
    if (!time)
        note_unmeasured(inquiry, row, FIGURE_MS);
    if (inquiry->plain == no_row)
        note_untrained(inquiry, "none");
    else if (!plain)
        note_unmeasured(inquiry, inquiry->plain, FIGURE_MS);
    if (!time || !plain)
        return false;
    if (measurements_are_comparable(time, plain))
        return true;
    note(inquiry, N_("%s and %s were measured on different machines or with different threads."),
         row_at(inquiry, row)->network, row_at(inquiry, inquiry->plain)->network);
    note_unmeasured(inquiry, row, FIGURE_COMPARABLE_MS);
    return false;
}

static enum answer is_faster(struct inquiry *inquiry, size_t row)
{
    if (!have_times(inquiry, row))
        return UNKNOWN;
    const struct measurement *time = time_of(inquiry, row),
                             *plain = time_of(inquiry, inquiry->plain);
    const struct statistics *ms = &time->ms_per_image, *before = &plain->ms_per_image;
    bool apart = !measurements_overlap(time, plain), less = ms->mean < before->mean;
    note_row(inquiry, inquiry->plain);
    note_row(inquiry, row);
    note(inquiry,
         !apart ? N_("%s takes %.4g +- %s ms on %s, %s %.4g +- %s ms: not distinguishable.")
         : less ? N_("%s takes %.4g +- %s ms on %s, %s %.4g +- %s ms: faster.")
                : N_("%s takes %.4g +- %s ms on %s, %s %.4g +- %s ms: slower."),
         row_at(inquiry, row)->network, ms->mean, STATISTICS_SPREAD(ms->ci95), time->device,
         row_at(inquiry, inquiry->plain)->network, before->mean, STATISTICS_SPREAD(before->ci95));
    return apart && less ? YES : NO;
}

static enum answer is_fast(struct inquiry *inquiry, size_t row)
{
    if (isfinite(inquiry->request->limit_ms))
        return is_within_limit(inquiry, row);
    return row == inquiry->plain ? NO : is_faster(inquiry, row);
}

static enum answer is_small(struct inquiry *inquiry, size_t row)
{
    double limit = inquiry->request->limit_mb;
    double size = (double)row_at(inquiry, row)->model_bytes / mega;
    const char *name = row_at(inquiry, row)->network;
    note_row(inquiry, row);
    if (isfinite(limit)) {
        note(inquiry,
             size <= limit ? N_("%s takes %.4g MB: within the limit of %.4g MB.")
                           : N_("%s takes %.4g MB: not within the limit of %.4g MB."),
             name, size, limit);
        return size <= limit ? YES : NO;
    }
    if (row == inquiry->plain)
        return NO;
    if (inquiry->plain == no_row) {
        note_untrained(inquiry, "none");
        return UNKNOWN;
    }
    double before = (double)row_at(inquiry, inquiry->plain)->model_bytes / mega;
    note(inquiry,
         size < before ? N_("%s takes %.4g MB, %s %.4g MB: smaller.")
                       : N_("%s takes %.4g MB, %s %.4g MB: not smaller."),
         name, size, row_at(inquiry, inquiry->plain)->network, before);
    return size < before ? YES : NO;
}

static enum answer is_accurate(struct inquiry *inquiry, size_t row)
{
    const struct compare_row *with = row_at(inquiry, row);
    if (inquiry->plain == no_row) {
        note_untrained(inquiry, "none");
        return UNKNOWN;
    }
    const struct compare_row *without = row_at(inquiry, inquiry->plain);
    if (isnan(with->top1))
        note_unmeasured(inquiry, row, FIGURE_ACCURACY);
    if (isnan(without->top1))
        note_unmeasured(inquiry, inquiry->plain, FIGURE_ACCURACY);
    if (isnan(with->top1) || isnan(without->top1))
        return UNKNOWN;
    double lost = without->top1 - with->top1, accepted = inquiry->request->accept_loss;
    note_row(inquiry, inquiry->plain);
    note_row(inquiry, row);
    note(inquiry,
         lost > accepted
             ? N_("%s has %.2f %%, %s %.2f %%: %.2f points lost, too many (accepted: %.4g).")
         : lost > 0
             ? N_("%s has %.2f %%, %s %.2f %%: %.2f points lost, acceptable (accepted: %.4g).")
             : N_("%s has %.2f %%, %s %.2f %%: %.2f points gained, acceptable (accepted: %.4g)."),
         with->network, with->top1, without->network, without->top1, fabs(lost), accepted);
    return lost <= accepted ? YES : NO;
}

/* --- the device --- */

/* Sets advice->device. "weak" and "powerful" select the first measured device of that kind. */
static void choose_device(struct inquiry *inquiry)
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

static void judge_device(struct inquiry *inquiry)
{
    struct advice *advice = inquiry->advice;
    const char *asked = inquiry->request->device;
    size_t shift = find_row(inquiry, "shift");
    const struct measurement *with = shift == no_row ? NULL : time_of(inquiry, shift);
    const struct measurement *without =
        inquiry->plain == no_row ? NULL : time_of(inquiry, inquiry->plain);
    advice->powerful = strcmp(asked, "powerful") == 0;
    if (advice->powerful || strcmp(asked, "weak") == 0)
        return;
    if (with && without && measurements_are_comparable(with, without)) {
        advice->powerful = is_faster(inquiry, shift) != YES;
        return;
    }
    advice->assumed = true;
    advice->powerful = strncmp(advice->device, "cuda", 4) == 0;
    note(inquiry,
         advice->powerful
             ? N_("Whether shift is faster on %s was not measured; it is assumed that it is not, "
                  "as the studies found on a powerful device.")
             : N_("Whether shift is faster on %s was not measured; it is assumed that it is, as "
                  "the studies found on a weak device."),
         advice->device);
}

/* --- the flowchart --- */

static void conclude(struct inquiry *inquiry, enum advise_verdict verdict, const char *technique)
{
    inquiry->advice->verdict = verdict;
    inquiry->advice->technique = technique;
}

/* Returns YES only if the run of a technique meets every requirement that was asked for. */
static enum answer judge(struct inquiry *inquiry, size_t row, bool latency, bool size)
{
    enum answer fast = latency ? is_fast(inquiry, row) : YES;
    enum answer small = size ? is_small(inquiry, row) : YES;
    enum answer accurate = is_accurate(inquiry, row);
    if (fast == NO || small == NO || accurate == NO)
        return NO;
    return fast == UNKNOWN || small == UNKNOWN || accurate == UNKNOWN ? UNKNOWN : YES;
}

static void try_techniques(struct inquiry *inquiry, bool latency, bool size)
{
    static const char *const order[] = {"shift", "dsc", "shuffle"};
    size_t count = latency ? 1 : sizeof order / sizeof *order;
    if (latency && size)
        note(inquiry, N_("Latency matters as well: only shift comes into question."));
    for (size_t i = 0; i < count; i++) {
        size_t row = find_row(inquiry, order[i]);
        enum answer answer = row == no_row ? UNKNOWN : judge(inquiry, row, latency, size);
        if (row == no_row) {
            note(inquiry, N_("%s comes next; no run of it was found."), order[i]);
            note_untrained(inquiry, order[i]);
        }
        note_fork(inquiry, ADVISE_DOES, order[i], answer);
        if (answer != NO) {
            conclude(inquiry, answer == YES ? ADVISE_USE : ADVISE_TRY, order[i]);
            return;
        }
        note(inquiry, N_("So %s does not do."), order[i]);
    }
    note(inquiry, N_("Look elsewhere: a smaller network, width rates, precision, pruning."));
    conclude(inquiry, ADVISE_ELSEWHERE, "none");
}

static void follow(struct inquiry *inquiry)
{
    enum advise_need need = inquiry->request->need;
    bool latency = need != ADVISE_SMALLER, size = need != ADVISE_FASTER;
    enum answer fast = UNKNOWN, small = UNKNOWN;
    inquiry->plain = find_row(inquiry, "none");
    if (inquiry->plain == no_row) {
        note(inquiry, N_("No run of %s without a technique was found."), inquiry->advice->network);
        note_untrained(inquiry, "none");
    } else {
        fast = latency ? is_fast(inquiry, inquiry->plain) : YES;
        small = size ? is_small(inquiry, inquiry->plain) : YES;
    }
    note_fork(inquiry, ADVISE_MEETS, NULL,
              fast == YES && small == YES ? YES
              : fast == NO || small == NO ? NO
                                          : UNKNOWN);
    if (fast == YES && small == YES) {
        note(inquiry, N_("It meets the requirements as it is: leave it alone."));
        conclude(inquiry, ADVISE_KEEP, "none");
        return;
    }
    note_fork(inquiry, ADVISE_HURRY, NULL, latency && fast != YES ? YES : NO);
    if (latency && fast != YES) {
        judge_device(inquiry);
        note_fork(inquiry, ADVISE_POWERFUL, NULL, inquiry->advice->powerful ? YES : NO);
    }
    if (latency && fast != YES && inquiry->advice->powerful) {
        bool open = fast == UNKNOWN && isfinite(inquiry->request->limit_ms);
        note(inquiry,
             open ? N_("On a powerful device the techniques do not make a network faster: if it "
                       "does not meet the limit as it is, look elsewhere (precision, batch, "
                       "pruning).")
                  : N_("On a powerful device the techniques do not make a network faster: look "
                       "elsewhere (precision, batch, pruning)."));
        if (size && small != YES)
            note(inquiry, N_("To be smaller alone is another question: --need smaller."));
        conclude(inquiry, open ? ADVISE_MEASURE : ADVISE_ELSEWHERE, "none");
        return;
    }
    try_techniques(inquiry, latency, size);
    if (inquiry->advice->verdict == ADVISE_USE && (fast == UNKNOWN || small == UNKNOWN)) {
        note(inquiry, N_("Whether the network meets the limits without it is not known."));
        inquiry->advice->verdict = ADVISE_TRY;
    }
}

/* --- what is asked about --- */

/* Refuses the name of a network with a technique: the question concerns the plain network. */
static bool check_name(const char *network, struct error *error)
{
    static const char *const suffixes[] = {"-dsc", "-shuffle", "-shift"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        const char *found = strstr(network, suffixes[i]);
        size_t length = strlen(suffixes[i]);
        if (found && (found[length] == '\0' || found[length] == '-'))
            return error_set(error, ERROR_USAGE, network, "name it without",
                             "the network is to be named without a technique");
    }
    return true;
}

static bool choose_network(struct inquiry *inquiry, struct error *error)
{
    struct advice *advice = inquiry->advice;
    if (inquiry->request->network) {
        snprintf(advice->network, sizeof advice->network, "%s", inquiry->request->network);
        return check_name(inquiry->request->network, error);
    }
    for (size_t i = 0; i < inquiry->table->count; i++) {
        const struct compare_row *row = row_at(inquiry, i);
        if (row->run && advice->network[0] && strcmp(row->base, advice->network) != 0)
            return error_set(error, ERROR_USAGE, "--network", "give --network NET",
                             "there are runs of several networks: %s, %s and perhaps others",
                             advice->network, row->base);
        if (row->run)
            snprintf(advice->network, sizeof advice->network, "%s", row->base);
    }
    return advice->network[0] || error_set(error, ERROR_USAGE, "--network", "give --network NET",
                                           "there are no runs that would tell the network");
}

/* Sets advice->data, the data set on which accuracies are compared: that of the latest run,
 * preferably of one without a technique. */
static void choose_data(struct inquiry *inquiry)
{
    struct advice *advice = inquiry->advice;
    bool plain = false;
    for (size_t i = 0; i < inquiry->table->count; i++) {
        const struct compare_row *row = row_at(inquiry, i);
        bool is_plain = strcmp(row->technique, "none") == 0;
        if (!is_of(row, advice) || row->model_bytes == 0 || (plain && !is_plain))
            continue;
        snprintf(advice->data, sizeof advice->data, "%s", row->data);
        plain = is_plain;
    }
}

bool advise(const struct comparison *comparison, const struct advise_request *request,
            struct advice *advice, struct error *error)
{
    struct inquiry inquiry = {
        .table = comparison, .request = request, .advice = advice, .plain = no_row};
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
    struct json *gaps = json_add_array(root, "not_known");
    bool added = steps && rows && gaps;
    for (size_t i = 0; i < advice->step_count; i++)
        added = added && json_add_string(steps, NULL, advice->steps[i]);
    for (size_t i = 0; i < advice->row_count; i++)
        added =
            added && compare_row_to_json(comparison, advice->rows[i], json_add_object(rows, NULL));
    for (size_t i = 0; i < advice->gap_count; i++) {
        struct json *gap = json_add_object(gaps, NULL);
        added = added && json_add_string(gap, "what", advice->gaps[i].what) &&
                json_add_string(gap, "command", advice->gaps[i].command);
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

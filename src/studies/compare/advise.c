/* Walks through the flowchart: chooses network, data set and device, answers the questions from the
 * evidence in the comparison (advise_evidence.c), and draws the conclusion. */
#include "studies/compare/internal.h"

#include "base/escape/shell.h"
#include "base/language.h"
#include "runs/values/run_facts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
    size_t shift = advise_find_row(inquiry, "shift");
    advice->powerful = strcmp(asked, "powerful") == 0;
    if (advice->powerful || strcmp(asked, "weak") == 0)
        return;
    if (shift != ADVISE_NO_ROW && advise_test_times(inquiry, shift).kind != TEST_NONE) {
        advice->powerful = advise_is_faster(inquiry, shift) != ADVISE_YES;
        return;
    }
    advice->assumed = true;
    advice->powerful = strncmp(advice->device, "cuda", 4) == 0;
    advise_note(
        inquiry,
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
    enum advise_reply fast = latency ? advise_is_fast(inquiry, row) : ADVISE_YES;
    enum advise_reply small = size ? advise_is_small(inquiry, row) : ADVISE_YES;
    enum advise_reply accurate = advise_is_accurate(inquiry, row);
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
        advise_note(inquiry, N_("Latency matters as well, so only shift is considered."));
    for (size_t i = 0; i < count; i++) {
        size_t row = advise_find_row(inquiry, order[i]);
        enum advise_reply answer =
            row == ADVISE_NO_ROW ? ADVISE_UNKNOWN : judge(inquiry, row, latency, size);
        if (row == ADVISE_NO_ROW) {
            advise_note(inquiry, N_("%s comes next; no run of it was found."), order[i]);
            advise_note_untrained(inquiry, order[i]);
        }
        advise_note_question(inquiry, ADVISE_SUFFICES, order[i], answer);
        if (answer != ADVISE_NO) {
            conclude(inquiry, answer == ADVISE_YES ? ADVISE_USE : ADVISE_TRY, order[i]);
            return;
        }
        advise_note(inquiry, N_("So %s does not meet the requirements."), order[i]);
    }
    advise_note(inquiry, N_("Look elsewhere: a smaller network, width rates, precision, pruning."));
    conclude(inquiry, ADVISE_ELSEWHERE, "none");
}

static void follow(struct advise_inquiry *inquiry)
{
    enum advise_need need = inquiry->request->need;
    bool latency = need != ADVISE_SMALLER, size = need != ADVISE_FASTER;
    enum advise_reply fast = ADVISE_UNKNOWN, small = ADVISE_UNKNOWN;
    inquiry->plain = advise_find_row(inquiry, "none");
    if (inquiry->plain == ADVISE_NO_ROW) {
        advise_note(inquiry, N_("No run of %s without a technique was found."),
                    inquiry->advice->network);
        advise_note_untrained(inquiry, "none");
    } else {
        fast = latency ? advise_is_fast(inquiry, inquiry->plain) : ADVISE_YES;
        small = size ? advise_is_small(inquiry, inquiry->plain) : ADVISE_YES;
    }
    advise_note_question(inquiry, ADVISE_MEETS, NULL,
                         fast == ADVISE_YES && small == ADVISE_YES ? ADVISE_YES
                         : fast == ADVISE_NO || small == ADVISE_NO ? ADVISE_NO
                                                                   : ADVISE_UNKNOWN);
    if (fast == ADVISE_YES && small == ADVISE_YES) {
        advise_note(inquiry, N_("It meets the requirements as it is: leave it alone."));
        conclude(inquiry, ADVISE_KEEP, "none");
        return;
    }
    advise_note_question(inquiry, ADVISE_NEEDS_SPEED, NULL,
                         latency && fast != ADVISE_YES ? ADVISE_YES : ADVISE_NO);
    if (latency && fast != ADVISE_YES) {
        judge_device(inquiry);
        advise_note_question(inquiry, ADVISE_POWERFUL, NULL,
                             inquiry->advice->powerful ? ADVISE_YES : ADVISE_NO);
    }
    if (latency && fast != ADVISE_YES && inquiry->advice->powerful) {
        bool open = fast == ADVISE_UNKNOWN && isfinite(inquiry->request->limit_ms);
        advise_note(
            inquiry,
            open ? N_("On a powerful device the techniques do not make a network faster: if it "
                      "does not meet the limit as it is, look elsewhere (precision, batch, "
                      "pruning).")
                 : N_("On a powerful device the techniques do not make a network faster: look "
                      "elsewhere (precision, batch, pruning)."));
        if (size && small != ADVISE_YES)
            advise_note(inquiry, N_("To be smaller alone is another question: --need smaller."));
        conclude(inquiry, open ? ADVISE_MEASURE : ADVISE_ELSEWHERE, "none");
        return;
    }
    try_techniques(inquiry, latency, size);
    if (inquiry->advice->verdict == ADVISE_USE &&
        (fast == ADVISE_UNKNOWN || small == ADVISE_UNKNOWN)) {
        advise_note(inquiry, N_("Whether the network meets the limits without it is not known."));
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
        const struct compare_row *row = advise_row(inquiry, i);
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
        const struct compare_row *row = advise_row(inquiry, i);
        bool is_plain = strcmp(row->technique, "none") == 0;
        if (!advise_concerns(row, advice) || !(row->figures.model_bytes > 0) ||
            (plain && !is_plain))
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

/* The text is split at spaces outside quotes. A term is `-`, a field's key, an operator and a
 * value; without an operator, or when it begins with a quote, it is a word. Comparisons of numbers
 * become ranges. Where a field has few possible values, such as the status, another one is refused:
 * it is a slip of the pen that would match nothing. */
#include "runs/history/run_filter.h"

#include "base/language.h"
#include "base/text.h"
#include "runs/settings/config.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The fields whose texts a word is looked for in, besides the ID and the usual settings. */
static const size_t searched[] = {FIGURE_NAME, FIGURE_TAG, FIGURE_NOTE, FIGURE_STATUS,
                                  FIGURE_BEGUN};

/* --- parsing --- */

const char *run_filter_operator(const char *term, size_t *length)
{
    const char *sign = term + strcspn(term, ":=<>~");
    *length = *sign ? 1 + ((*sign == '<' || *sign == '>') && sign[1] == '=') : 0;
    if (sign > term && sign[-1] == '!' && (*sign == '=' || *sign == '~')) {
        *length = 2;
        return sign - 1;
    }
    return sign;
}

/* Copies the next term without its quotes. Sets *quoted if it begins with one. Returns where the
 * text goes on, or NULL at its end. */
static const char *next_term(const char *at, char *term, size_t size, bool *quoted,
                             struct error *error)
{
    size_t length = 0;
    char quote = '\0';
    at += strspn(at, " \t");
    *quoted = at[0] == '"' || at[0] == '\'' || (at[0] == '-' && (at[1] == '"' || at[1] == '\''));
    const char *begin = at;
    for (; *at && (quote || (*at != ' ' && *at != '\t')); at++) {
        if (quote ? *at == quote : *at == '"' || *at == '\'')
            quote = quote ? '\0' : *at;
        else if (length + 1 < size)
            term[length++] = *at;
    }
    term[length] = '\0';
    if (quote)
        error_set(error, ERROR_USAGE, begin, NULL, _("the closing %c is missing"), quote);
    return quote ? NULL : at;
}

/* Adds the fields that begin with the same letter, or the most usual ones. */
static bool refuse_field(const char *key, const char *term, struct error *error)
{
    char candidates[240] = "";
    size_t length = 0;
    for (size_t field = 0; field < run_field_count() && length < 160; field++)
        if (tolower((unsigned char)run_field_key(field)[0]) == tolower((unsigned char)key[0]))
            length += (size_t)snprintf(candidates + length, sizeof candidates - length, "%s%s",
                                       length ? ", " : "", run_field_key(field));
    return error_set(error, ERROR_USAGE, term,
                     _("Tab lists all fields; quotes search for the text itself"),
                     candidates[0] ? _("there is no field \"%s\"; perhaps %s")
                                   : _("there is no field \"%s\"; there are %s"),
                     key, candidates[0] ? candidates : "lr, batch, loss, top1, tag, status, ...");
}

static bool parse_number(const struct run_term *term, const char *text, double *value,
                         const char *whole, struct error *error)
{
    uint64_t bytes;
    if ((term->field == FIGURE_PEAK_MEMORY || term->field == FIGURE_DISK) &&
        text_to_bytes(text, &bytes)) {
        *value = (double)bytes;
        return true;
    }
    return text_to_double(text, value) ||
           error_set(error, ERROR_USAGE, whole, _("give a number, such as 0.1 or 0.01..0.1"),
                     _("\"%s\" is not a number, but %s has numbers"), text,
                     run_field_key(term->field));
}

/* Parses "a", "a..b", "a.." or "..b". */
static bool add_range(struct run_term *term, char *text, const char *whole, struct error *error)
{
    double low = -INFINITY, high = INFINITY;
    char *dots = strstr(text, "..");
    if (dots)
        *dots = '\0';
    const char *last = dots ? dots + 2 : text;
    if ((!dots || text[0]) && !parse_number(term, text, &low, whole, error))
        return false;
    if ((!dots || last[0]) && !parse_number(term, last, &high, whole, error))
        return false;
    if (term->range_count == FILTER_RANGES)
        return error_set(error, ERROR_USAGE, whole, _("use a range: a..b"),
                         _("more than %d values"), FILTER_RANGES);
    term->ranges[term->range_count].low = low;
    term->ranges[term->range_count++].high = high;
    return true;
}

static bool parse_values(struct run_term *term, const char *sign, const char *whole,
                         struct error *error)
{
    char values[FILTER_WORD], *rest = values;
    double value;
    snprintf(values, sizeof values, "%s", term->text);
    if (sign[0] == '<' || sign[0] == '>') {
        const bool greater = sign[0] == '>', open = sign[1] != '=';
        if (!parse_number(term, values, &value, whole, error))
            return false;
        term->ranges[0].low = greater ? value : -INFINITY;
        term->ranges[0].high = greater ? INFINITY : value;
        term->ranges[0].above = greater && open;
        term->ranges[0].below = !greater && open;
        term->range_count = 1;
        return true;
    }
    for (char *part; (part = strtok_r(rest, ",", &rest));)
        if (!add_range(term, part, whole, error))
            return false;
    return true;
}

/* --- fields with few possible values --- */

/* The words that a status can be, untranslated; "finished" is taken for "done". */
static const char *const statuses[] = {
    "waiting", "preparing", "running", "paused",      "validating", "done",       "stopped",
    "failed",  "diverged",  "refused", "interrupted", "unreadable", "incomplete", NULL};

/* Returns the words that a field can have, NULL-terminated, or NULL if it can have any text. */
static const char *const *possible_words(size_t field)
{
    static const char *const flags[] = {"yes", "no", NULL};
    const struct config_field *setting =
        field < FIGURES_OF_RUNS ? NULL : config_find(run_field_key(field));
    if (field == FIGURE_STATUS)
        return statuses;
    if (setting && setting->kind == CONFIG_FLAG)
        return flags;
    return setting && setting->kind == CONFIG_CHOICE ? setting->choices : NULL;
}

static bool word_is_possible(const struct run_term *term, const char *word)
{
    const char *shown = term->field == FIGURE_STATUS ? language_text(word) : word;
    if (term->exact)
        return strcasecmp(word, term->text) == 0 || strcasecmp(shown, term->text) == 0;
    return strcasestr(word, term->text) || strcasestr(shown, term->text);
}

/* Fails with the possible words if the term's text is none of them. */
static bool check_word(struct run_term *term, const char *whole, struct error *error)
{
    char list[400] = "";
    size_t length = 0;
    const char *const *words = possible_words(term->field);
    if (term->field == FIGURE_STATUS && strcasecmp(term->text, "finished") == 0)
        snprintf(term->text, sizeof term->text, "done");
    if (!words)
        return true;
    for (size_t i = 0; words[i]; i++) {
        if (word_is_possible(term, words[i]))
            return true;
        if (length < sizeof list)
            length += (size_t)snprintf(list + length, sizeof list - length, "%s%s",
                                       length ? ", " : "", words[i]);
    }
    return error_set(error, ERROR_USAGE, whole, _("Tab lists the values that occur"),
                     _("%s is never \"%s\"; it can be %s"), run_field_key(term->field), term->text,
                     list);
}

/* Reads the operator and the value of a term whose field is known. */
static bool parse_value(struct run_term *term, const char *sign, size_t length, const char *whole,
                        struct error *error)
{
    const char *key = run_field_key(term->field);
    const bool contains = sign[length - 1] == '~', compares = sign[0] == '<' || sign[0] == '>';
    snprintf(term->text, sizeof term->text, "%s", sign + length);
    term->exact = !compares && sign[length - 1] == '=';
    term->part = contains;
    term->negated ^= sign[0] == '!';
    if (!term->text[0])
        return error_set(error, ERROR_USAGE, whole, _("Tab lists the values that occur"),
                         _("a value is missing"));
    if (run_field_is_number(term->field) && contains)
        return error_set(error, ERROR_USAGE, whole, _("use = != < <= > >="),
                         _("%s has numbers, not texts"), key);
    if (run_field_is_number(term->field))
        return parse_values(term, sign, whole, error);
    if (compares)
        return error_set(error, ERROR_USAGE, whole, _("use = != ~ or :"),
                         _("%s has texts, not numbers"), key);
    return check_word(term, whole, error);
}

static bool parse_term(struct run_term *term, const char *text, bool quoted, struct error *error)
{
    char key[FILTER_WORD];
    *term = (struct run_term){.field = FIELD_NONE, .negated = text[0] == '-' && text[1]};
    size_t length;
    const char *begin = text + term->negated, *sign = run_filter_operator(begin, &length);
    snprintf(term->text, sizeof term->text, "%s", begin);
    if (quoted || !*sign || sign == begin)
        return true;
    snprintf(key, sizeof key, "%.*s", (int)(sign - begin), begin);
    term->field = run_field_find(strcasecmp(key, "tags") == 0 ? "tag" : key);
    return term->field == FIELD_NONE ? refuse_field(key, text, error)
                                     : parse_value(term, sign, length, text, error);
}

bool run_filter_parse(struct run_filter *filter, const char *text, struct error *error)
{
    char term[FILTER_WORD];
    bool quoted;
    filter->count = 0;
    filter->unknown_field = false;
    while (text[strspn(text, " \t")]) {
        if (!(text = next_term(text, term, sizeof term, &quoted, error)))
            return false;
        if (filter->count == FILTER_TERMS)
            return error_set(error, ERROR_USAGE, term, NULL, _("more than %d terms"), FILTER_TERMS);
        struct run_term *parsed = &filter->terms[filter->count];
        if (!parse_term(parsed, term, quoted, error)) {
            filter->unknown_field = parsed->field == FIELD_NONE;
            return false;
        }
        filter->count += term[0] != '\0';
    }
    return true;
}

/* --- matching --- */

static bool word_occurs(const char *word, const struct run_record *record)
{
    char text[FIELD_TEXT];
    if (strcasestr(record->id, word) || strcasestr(record->status, word))
        return true;
    if (!record->known)
        return false;
    for (size_t i = 0; i < sizeof searched / sizeof *searched; i++)
        if (strcasestr(run_field_text(searched[i], record, text, sizeof text), word))
            return true;
    for (size_t i = 0; i < config_field_count; i++)
        if (config_fields[i].told.usual &&
            strcasestr(
                run_field_text(run_field_of_setting(&config_fields[i]), record, text, sizeof text),
                word))
            return true;
    return strcasestr(language_text(record->status), word);
}

/* Settings are stored in double precision, losses in single: values that agree in six digits are
 * equal. */
static bool is_equal(double a, double b)
{
    return a == b || (isfinite(a) && isfinite(b) && fabs(a - b) <= 1e-6 * fmax(fabs(a), fabs(b)));
}

static bool number_matches(const struct run_term *term, double value)
{
    for (size_t i = 0; i < term->range_count; i++) {
        const double low = term->ranges[i].low, high = term->ranges[i].high;
        const bool at_low = is_equal(value, low), at_high = is_equal(value, high);
        if ((value > low || at_low) && (value < high || at_high) &&
            !(at_low && term->ranges[i].above) && !(at_high && term->ranges[i].below))
            return true;
    }
    return false;
}

static bool text_matches(const struct run_term *term, const struct run_record *record)
{
    char text[FIELD_TEXT];
    run_field_text(term->field, record, text, sizeof text);
    if (term->field == FIGURE_TAG && !term->part) { /* one of several words */
        for (char *tag, *rest = text; (tag = strtok_r(rest, " ", &rest));)
            if (strcasecmp(tag, term->text) == 0)
                return true;
        return false;
    }
    if (term->field == FIGURE_STATUS && strcasecmp(language_text(record->status), term->text) == 0)
        return true;
    return term->exact ? strcasecmp(text, term->text) == 0 : strcasestr(text, term->text) != NULL;
}

static bool term_matches(const struct run_term *term, const struct run_record *record)
{
    if (term->field == FIELD_NONE)
        return word_occurs(term->text, record);
    return run_field_is_number(term->field)
               ? number_matches(term, run_field_number(term->field, record))
               : text_matches(term, record);
}

bool run_filter_matches(const struct run_filter *filter, const struct run_record *record)
{
    for (size_t i = 0; i < filter->count; i++)
        if (term_matches(&filter->terms[i], record) == filter->terms[i].negated)
            return false;
    return true;
}

bool run_filter_has(const struct run_filter *filter, const char *field)
{
    const size_t wanted = run_field_find(field);
    for (size_t i = 0; i < filter->count; i++)
        if (filter->terms[i].field == wanted)
            return true;
    return false;
}

/* --- completion --- */

/* Completion of the last term of a filter. Before an operator it may become any field whose key
 * begins so; after one, any value that occurs in the runs. */

/* Returns the offset at which the last term begins. */
static size_t last_term(const char *text)
{
    size_t from = 0;
    char quote = '\0';
    for (size_t i = 0; text[i]; i++) {
        if (quote ? text[i] == quote : text[i] == '"' || text[i] == '\'')
            quote = quote ? '\0' : text[i];
        else if (!quote && (text[i] == ' ' || text[i] == '\t'))
            from = i + 1;
    }
    return from + (text[from] == '-');
}

static void add(struct run_completion *completion, const char *key, const char *sign,
                const char *value)
{
    char *place = completion->candidates[completion->count];
    const char *quote = strpbrk(value, " \t") ? "\"" : "";
    if (completion->count == FILTER_CANDIDATES)
        return;
    const int length = snprintf(place, FILTER_WORD, "%s%s%s%s%s", key, sign, quote, value, quote);
    if (length < 0 || length >= FILTER_WORD)
        return;
    for (size_t i = 0; i < completion->count; i++)
        if (strcmp(completion->candidates[i], place) == 0)
            return;
    completion->count++;
}

static void add_fields(struct run_completion *completion, const char *begin)
{
    for (size_t field = 0; field < run_field_count(); field++)
        if (strncasecmp(run_field_key(field), begin, strlen(begin)) == 0)
            add(completion, run_field_key(field), run_field_is_figure(field) ? ">" : ":", "");
}

/* Adds the texts of one record; each tag is a text of its own. */
static void add_texts(struct run_completion *completion, size_t field, const char *sign,
                      const char *begin, const struct run_record *record)
{
    char text[FIELD_TEXT], *rest = text;
    run_field_text(field, record, text, sizeof text);
    const char *separators = field == FIGURE_TAG ? " " : "\n";
    for (char *value; (value = strtok_r(rest, separators, &rest));)
        if (strncasecmp(value, begin, strlen(begin)) == 0)
            add(completion, run_field_key(field), sign, value);
}

static void add_number(struct run_completion *completion, size_t field, const char *sign,
                       const char *begin, const struct run_record *record)
{
    char text[64];
    const double value = run_field_number(field, record);
    if (isnan(value))
        return;
    snprintf(text, sizeof text, "%.6g", value);
    if (strncmp(text, begin, strlen(begin)) == 0)
        add(completion, run_field_key(field), sign, text);
}

/* Orders numbers by value and texts by letters. */
static int by_value(const void *a, const void *b)
{
    const char *first = a, *second = b;
    size_t length;
    const size_t key = (size_t)(run_filter_operator(first, &length) - first) + length;
    if (length > 0 && strncmp(first, second, key) == 0) {
        char *end_a, *end_b;
        const char *from_a = first + key, *from_b = second + key;
        const double x = strtod(from_a, &end_a), y = strtod(from_b, &end_b);
        if (end_a != from_a && end_b != from_b && !*end_a && !*end_b)
            return (x > y) - (x < y);
    }
    return strcmp(first, second);
}

void run_filter_complete(struct run_completion *completion, const char *text, run_records *records,
                         void *context)
{
    char key[FILTER_WORD], sign[3] = "";
    struct run_record record;
    *completion = (struct run_completion){.from = last_term(text)};
    size_t length;
    const char *term = text + completion->from, *at = run_filter_operator(term, &length);
    snprintf(key, sizeof key, "%.*s", (int)(at - term), term);
    const size_t field = *at ? run_field_find(key) : FIELD_NONE;
    if (!*at)
        add_fields(completion, term);
    if (field == FIELD_NONE) {
        qsort(completion->candidates, completion->count, FILTER_WORD, by_value);
        return;
    }
    memcpy(sign, at, length);
    const char *begin = at + strlen(sign);
    begin += *begin == '"' || *begin == '\'';
    for (size_t i = 0; completion->count < FILTER_CANDIDATES && records(context, i, &record); i++)
        if (!record.known)
            continue;
        else if (run_field_is_number(field))
            add_number(completion, field, sign, begin, &record);
        else
            add_texts(completion, field, sign, begin, &record);
    qsort(completion->candidates, completion->count, FILTER_WORD, by_value);
}

char *run_completion_common(const struct run_completion *completion, char *text, size_t size)
{
    snprintf(text, size, "%s", completion->count ? completion->candidates[0] : "");
    for (size_t i = 1; i < completion->count; i++) {
        size_t same = 0;
        while (text[same] && text[same] == completion->candidates[i][same])
            same++;
        text[same] = '\0';
    }
    return text;
}

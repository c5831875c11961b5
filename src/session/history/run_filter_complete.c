/* Completion of the last term of a filter. Before an operator it may become any field whose key
 * begins so; after one, any value that occurs in the runs. */
#include "session/history/run_filter.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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
    const char *separators = field == FIELD_TAG ? " " : "\n";
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

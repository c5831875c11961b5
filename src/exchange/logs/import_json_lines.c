/* Reads JSON lines: an object a line, whose members are values with names. Members of objects
 * within it are named OUTER/INNER. Python writes NaN and Infinity, which JSON does not have, as
 * bare words; a loss that is one of them is a loss that is not finite. */
#include "exchange/logs/internal.h"

#include "base/json/json.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 4, MEMBERS_MOST = 4096 };

struct walk {
    struct import_reader *reader;
    struct import_row *row; /* NULL: only offer the names */
    size_t members;
};

static double value_of(const struct json *member)
{
    double value = (double)NAN;
    if (!json_number(member, &value) && json_string(member))
        value = import_row_time(json_string(member));
    return value;
}

static void walk_members(struct walk *walk, const struct json *object, const char *before,
                         unsigned depth)
{
    char name[IMPORT_NAME_SIZE];
    for (const struct json *member = json_first_member(object);
         member && walk->members < MEMBERS_MOST; member = json_next(member)) {
        walk->members++;
        const int length =
            snprintf(name, sizeof name, "%s%s%s", before, before[0] ? "/" : "", json_key(member));
        if (length < 0 || (size_t)length >= sizeof name)
            continue;
        if (json_is_object(member)) {
            if (depth < DEPTH)
                walk_members(walk, member, name, depth + 1);
        } else if (!walk->row)
            import_row_offer(walk->reader, name);
        else if (!json_is_array(member) && !json_is_null(member))
            import_row_put(walk->reader, walk->row, name, value_of(member));
    }
}

static bool claims(struct import_reader *reader, const char *line)
{
    (void)reader;
    return line[strspn(line, " \t")] == '{';
}

/* Returns the length of the bare word for a number that is not finite at `text`, or 0. */
static size_t length_of_word(const char *text)
{
    static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncmp(text, words[i], strlen(words[i])) == 0)
            return strlen(words[i]);
    return 0;
}

/* Writes an empty string, which is no number, in place of each such word outside strings. Returns
 * whether there was one. */
static bool replace_words(char *line)
{
    bool inside = false, found = false;
    for (char *c = line; *c; c++) {
        const size_t length = inside ? 0 : length_of_word(c);
        if (length > 0) {
            memset(c, ' ', length);
            memset(c, '"', 2);
            c += length - 1;
            found = true;
        } else if (inside && *c == '\\' && c[1]) {
            c++;
        } else if (*c == '"') {
            inside = !inside;
        }
    }
    return found;
}

/* Parses a line, also one with Python's words. */
static bool parse(const char *line, struct json_document *document)
{
    if (json_parse(document, line, strlen(line), "a line", NULL))
        return true;
    char *copy = memory_copy_text(line, NULL);
    const bool parsed =
        copy && replace_words(copy) && json_parse(document, copy, strlen(copy), "a line", NULL);
    free(copy);
    return parsed;
}

static bool take(struct import_reader *reader, const char *line)
{
    struct json_document document;
    struct import_row row = import_row_new();
    if (!claims(reader, line))
        return true;
    if (!parse(line, &document)) {
        reader->log->notes.damaged++;
        return true;
    }
    if (json_is_object(document.root)) {
        struct walk offer = {.reader = reader}, put = {.reader = reader, .row = &row};
        walk_members(&offer, document.root, "", 0);
        walk_members(&put, document.root, "", 0);
    }
    json_document_free(&document);
    return import_row_take(reader, &row);
}

const struct import_dialect import_jsonl = {.name = "jsonl",
                                            .take = take,
                                            .settle = import_rows_settle,
                                            .claims = claims,
                                            .without_times = true};

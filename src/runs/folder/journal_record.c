/* Tables (journal_text.c) give each value of an iteration or a validation its number and its place
 * in the structure; writing and reading use the same tables. */
#include "runs/folder/journal_record.h"

#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* --- bytes --- */

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define LITTLE64(value) __builtin_bswap64(value)
#define LITTLE32(value) __builtin_bswap32(value)
#else
#define LITTLE64(value) (value)
#define LITTLE32(value) (value)
#endif

static void put_64(unsigned char *at, uint64_t value)
{
    value = LITTLE64(value);
    memcpy(at, &value, sizeof value);
}

static uint64_t get_64(const unsigned char *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return LITTLE64(value);
}

static void put_32(unsigned char *at, uint32_t value)
{
    value = LITTLE32(value);
    memcpy(at, &value, sizeof value);
}

static uint32_t get_32(const unsigned char *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return LITTLE32(value);
}

static void put_double(unsigned char *at, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_64(at, bits);
}

static double get_double(const unsigned char *at)
{
    double value;
    const uint64_t bits = get_64(at);
    memcpy(&value, &bits, sizeof value);
    return value;
}

enum { AT_TIME = 8, AT_VALUE = 16, AT_SERIES = 24, AT_SUM = 28 };

/* Four 64-bit words, the last one of series and `before`, are each mixed in by a multiplication and
 * a shift, both of which can be undone, so that no change of a single word is lost before the
 * result is cut to 32 bits. A CRC-32 of 28 bytes takes many times as long, which would be most of
 * the time to read a run. */
uint32_t journal_record_compute(const unsigned char *record, uint32_t before)
{
    uint64_t sum = (uint64_t)get_32(record + AT_SERIES) << 32 | before;
    for (size_t i = 0; i < 4; i++) {
        sum = (sum ^ (i < 3 ? get_64(record + 8 * i) : 0)) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 32;
    }
    return (uint32_t)sum;
}

uint32_t journal_record_sum(const unsigned char *record)
{
    return get_32(record + AT_SUM);
}

static uint32_t series_of(const unsigned char *record)
{
    return get_32(record + AT_SERIES) & ~(JOURNAL_LAST | JOURNAL_ALONE);
}

static bool has_flag(const unsigned char *record, uint32_t flag)
{
    return get_32(record + AT_SERIES) & flag;
}

bool journal_record_is_last(const unsigned char *record)
{
    return has_flag(record, JOURNAL_LAST);
}

enum { VERSION = 1 };
static const char header_name[] = "tinca journal ";
static const char header[] = "tinca journal 1";

bool journal_record_check_version(const unsigned char *record, const char *path,
                                  struct error *error)
{
    uint64_t version;
    char text[JOURNAL_TEXT_BYTES + 1] = "";
    memcpy(text, record, JOURNAL_TEXT_BYTES);
    return series_of(record) != JOURNAL_TEXT ||
           strncmp(text, header_name, sizeof header_name - 1) != 0 ||
           !text_to_uint64(text + sizeof header_name - 1, &version) || version <= VERSION ||
           journal_record_compute(record, 0) != journal_record_sum(record) ||
           error_set(error, ERROR_UNSUPPORTED, path, "use the version of tinca that wrote it",
                     "a later version of tinca wrote the journal: its format is %llu, and this "
                     "version reads up to %d",
                     (unsigned long long)version, VERSION);
}

/* Forgets the values before: all are absent. */
static void begin_alone(const struct journal_table *table, struct journal_row *row)
{
    for (size_t i = JOURNAL_EPOCH; i < table->count; i++)
        journal_set_value(&table->columns[i], &row->values, (double)NAN);
    row->per_epoch = 0;
    row->has_epoch = false;
    row->known = true;
}

/* Returns the epoch after an iteration, as the training computes it; NaN if it is not known. */
static double epoch_after(uint64_t iteration, double per_epoch)
{
    return per_epoch > 0 ? (double)(float)((double)iteration / per_epoch) : (double)NAN;
}

/* Returns whether two values have the same bits. */
static bool is_same(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

void journal_codec_free(struct journal_codec *codec)
{
    text_free(&codec->text);
    scalars_free(&codec->names);
    *codec = (struct journal_codec){0};
}

/* --- writing --- */

static void put_record(struct journal_codec *codec, struct text *to, unsigned char *record,
                       uint32_t series)
{
    put_32(record + AT_SERIES, series);
    codec->sum = journal_record_compute(record, codec->sum);
    put_32(record + AT_SUM, codec->sum);
    text_append_bytes(to, (const char *)record, JOURNAL_RECORD);
}

/* An iteration or a validation that is being written. */
struct entry {
    const struct journal_table *table;
    struct journal_codec *codec;
    struct text *to;
    uint64_t iteration;
    float seconds;
    uint32_t flags; /* of the next record */
};

static void put_value(struct entry *entry, uint32_t column, double value, uint32_t flags)
{
    unsigned char record[JOURNAL_RECORD];
    put_64(record, entry->iteration);
    put_double(record + AT_TIME, (double)entry->seconds);
    put_double(record + AT_VALUE, value);
    put_record(entry->codec, entry->to, record,
               (entry->table->series + column) | entry->flags | flags);
    entry->flags = 0;
}

/* Writes the epoch, unless it follows from the iteration: if possible, the iterations of an epoch.
 * `candidate` is their number before the values were forgotten. */
static void put_epoch(struct entry *entry, struct journal_row *row, double epoch, double candidate)
{
    if (is_same(epoch, epoch_after(entry->iteration, row->per_epoch)))
        return;
    if (!is_same(epoch, epoch_after(entry->iteration, candidate)))
        candidate = round((double)entry->iteration / epoch);
    if (candidate >= 1 && is_same(epoch, epoch_after(entry->iteration, candidate)))
        put_value(entry, JOURNAL_PER_EPOCH, row->per_epoch = candidate, 0);
    else
        put_value(entry, JOURNAL_EPOCH, epoch, 0);
}

static void put_row(struct entry *entry, struct journal_row *row, const void *values, bool alone)
{
    const struct journal_table *table = entry->table;
    const double candidate = row->per_epoch;
    memcpy(&entry->iteration, (const char *)values + table->iteration, sizeof entry->iteration);
    memcpy(&entry->seconds, (const char *)values + table->seconds, sizeof entry->seconds);
    if (alone || !row->known) {
        begin_alone(table, row);
        entry->flags = JOURNAL_ALONE;
    }
    put_epoch(entry, row, journal_value(&table->columns[JOURNAL_EPOCH], values), candidate);
    for (uint32_t i = JOURNAL_LOSS + 1; i < table->count; i++) {
        const double value = journal_value(&table->columns[i], values);
        if (table->columns[i].kind == JOURNAL_TIME ||
            is_same(value, journal_value(&table->columns[i], &row->values)))
            continue;
        put_value(entry, i, value, 0);
        journal_set_value(&table->columns[i], &row->values, value);
    }
    put_value(entry, JOURNAL_LOSS, journal_value(&table->columns[JOURNAL_LOSS], values),
              JOURNAL_LAST);
}

void journal_put_point(struct journal_codec *codec, struct text *to,
                       const struct series_point *point)
{
    struct entry entry = {.table = &journal_points, .codec = codec, .to = to};
    const bool alone = codec->since == 0;
    codec->since = (codec->since + 1) % JOURNAL_ALONE_EVERY;
    put_row(&entry, &codec->point, point, alone);
}

void journal_put_validation(struct journal_codec *codec, struct text *to,
                            const struct series_validation *validation)
{
    struct entry entry = {.table = &journal_validations, .codec = codec, .to = to};
    put_row(&entry, &codec->validation, validation, true);
}

void journal_put_text(struct journal_codec *codec, struct text *to, const char *json, size_t length)
{
    do {
        unsigned char record[JOURNAL_RECORD] = {0};
        const size_t count = length < JOURNAL_TEXT_BYTES ? length : JOURNAL_TEXT_BYTES;
        memcpy(record, json, count);
        json += count;
        length -= count;
        put_record(codec, to, record, JOURNAL_TEXT | (length == 0 ? JOURNAL_LAST : 0));
    } while (length > 0);
}

/* Writes the event that gives the series at a place its name. */
static bool put_name(struct journal_codec *codec, struct text *to, const char *name, size_t place)
{
    struct json *event = json_new_object();
    const bool complete = json_add_string(event, "event", "series") &&
                          json_add_count(event, "number", JOURNAL_NAMED + place) &&
                          json_add_string(event, "name", name);
    char *text = complete ? json_print(event, false, NULL) : NULL;
    json_free(event);
    if (text)
        journal_put_text(codec, to, text, strlen(text));
    free(text);
    return text;
}

bool journal_put_scalar(struct journal_codec *codec, struct text *to, const char *name,
                        const struct scalar_value *value)
{
    unsigned char record[JOURNAL_RECORD];
    const size_t known = codec->names.count, place = scalars_find(&codec->names, name, NULL);
    if (place == SIZE_MAX)
        return false;
    if (place == known && !put_name(codec, to, name, place)) {
        free(codec->names.series[--codec->names.count].name); /* the next value names it */
        return false;
    }
    put_64(record, value->step);
    put_double(record + AT_TIME, value->time);
    put_double(record + AT_VALUE, value->value);
    put_record(codec, to, record, (JOURNAL_NAMED + (uint32_t)place) | JOURNAL_LAST);
    return true;
}

void journal_put_header(struct journal_codec *codec, struct text *to)
{
    journal_put_text(codec, to, header, sizeof header - 1);
}

/* --- reading --- */

static bool is_of(const struct journal_table *table, uint32_t series)
{
    return series >= table->series && series - table->series < table->count;
}

uint64_t journal_record_iteration(const unsigned char *record)
{
    const bool ends = journal_record_is_last(record) && is_of(&journal_points, series_of(record));
    return ends ? get_64(record) : 0;
}

/* Takes a value. Returns whether it completes a line, whose values are then those of the row. */
static bool take_value(const struct journal_table *table, struct journal_row *row,
                       const unsigned char *record)
{
    const uint32_t column = series_of(record) - table->series;
    const double value = get_double(record + AT_VALUE);
    if (has_flag(record, JOURNAL_ALONE))
        begin_alone(table, row);
    if (column == JOURNAL_PER_EPOCH)
        row->per_epoch = value;
    else
        journal_set_value(&table->columns[column], &row->values, value);
    row->has_epoch |= column == JOURNAL_EPOCH;
    if (!journal_record_is_last(record) || !row->known)
        return false;
    const uint64_t iteration = get_64(record);
    const float seconds = (float)get_double(record + AT_TIME);
    memcpy((char *)&row->values + table->iteration, &iteration, sizeof iteration);
    memcpy((char *)&row->values + table->seconds, &seconds, sizeof seconds);
    if (!row->has_epoch)
        journal_set_value(&table->columns[JOURNAL_EPOCH], &row->values,
                          epoch_after(iteration, row->per_epoch));
    row->has_epoch = false;
    return true;
}

/* Takes a part of an event. Returns whether it completes the event, which is then in the text. */
static bool take_text(struct journal_codec *codec, const unsigned char *record)
{
    struct text *text = &codec->text;
    size_t count = JOURNAL_TEXT_BYTES;
    while (count > 0 && record[count - 1] == '\0')
        count--;
    text_append_bytes(text, (const char *)record, count);
    if (text->length > JOURNAL_LINE_MOST)
        text->length = 0;
    return journal_record_is_last(record);
}

static void note_fault(struct journal_codec *codec, uint64_t end)
{
    if (codec->faults++ == 0)
        codec->first_fault = end - JOURNAL_RECORD;
}

/* Skips the rest of a damaged entry, and then the entries that need its values. */
static void skip_damaged(struct journal_codec *codec, uint64_t end)
{
    note_fault(codec, end);
    codec->damaged = true;
    codec->point.known = codec->validation.known = false;
    codec->text.length = 0;
}

/* A visitor of the caller, before which the names of series are kept. */
struct naming {
    struct journal_codec *codec;
    journal_visit *visit;
    void *context;
};

/* Sets the name of the series at a place. A resumed run names its series anew. Series before it
 * whose names were damaged have none. */
static void set_name(struct scalars *names, size_t place, const char *name)
{
    char *copy = place < SCALARS_NAMES_MOST ? memory_copy_text(name, NULL) : NULL;
    if (!copy || !memory_grow(&names->series, &names->capacity, place + 1, sizeof *names->series,
                              "the names of series", NULL)) {
        free(copy);
        return;
    }
    free(names->series[place].name); /* NULL if it is new */
    names->series[place].name = copy;
    if (names->count <= place)
        names->count = place + 1;
}

static bool keep_name(void *context, const struct journal_line *line, struct error *error)
{
    struct naming *naming = context;
    size_t number = 0;
    const char *event = json_string(json_member(line->json, "event"));
    const char *name = json_string(json_member(line->json, "name"));
    const struct json *count = json_member(line->json, "number");
    if (event && name && strcmp(event, "series") == 0 && count && json_count(count, &number) &&
        number >= JOURNAL_NAMED)
        set_name(&naming->codec->names, number - JOURNAL_NAMED, name);
    return naming->visit(naming->context, line, error);
}

static bool visit_scalar(const struct journal_codec *codec, const unsigned char *record,
                         uint64_t end, journal_visit *visit, void *context, struct error *error)
{
    const struct scalars *names = &codec->names;
    const uint32_t place = series_of(record) - JOURNAL_NAMED;
    if (place >= names->count || !names->series[place].name)
        return true; /* its name was damaged */
    const struct journal_scalar scalar = {
        names->series[place].name,
        {get_64(record), get_double(record + AT_TIME), get_double(record + AT_VALUE)}};
    return visit(context, &(struct journal_line){.scalar = &scalar, .end = end}, error);
}

/* Visits the event in the text, which it empties. */
static bool visit_event(struct journal_codec *codec, uint64_t end, const char *path,
                        journal_visit *visit, void *context, struct error *error)
{
    bool is_json = true;
    struct naming naming = {codec, visit, context};
    const size_t length = codec->text.length;
    if (codec->text.failed)
        return error_set_memory(error, "the journal", 0);
    codec->text.length = 0;
    if (end == JOURNAL_RECORD) /* the header */
        is_json = length == sizeof header - 1 && memcmp(codec->text.data, header, length) == 0;
    else if (!journal_visit_text(codec->text.data, length, end, path, keep_name, &naming, &is_json,
                                 error))
        return false;
    if (!is_json)
        note_fault(codec, end);
    return true;
}

static bool take_sound(struct journal_codec *codec, const unsigned char *record, uint64_t end,
                       const char *path, journal_visit *visit, void *context, struct error *error)
{
    const uint32_t series = series_of(record);
    struct journal_line line = {.end = end};
    if (is_of(&journal_points, series)) {
        line.point = &codec->point.values.point;
        return !take_value(&journal_points, &codec->point, record) || line.point->iteration == 0 ||
               visit(context, &line, error);
    }
    if (is_of(&journal_validations, series)) {
        line.validation = &codec->validation.values.validation;
        return !take_value(&journal_validations, &codec->validation, record) ||
               visit(context, &line, error);
    }
    if (series >= JOURNAL_NAMED)
        return visit_scalar(codec, record, end, visit, context, error);
    if (series != JOURNAL_TEXT || !take_text(codec, record))
        return true; /* a series of a later version, or the beginning of an event */
    return visit_event(codec, end, path, visit, context, error);
}

bool journal_take_record(struct journal_codec *codec, const unsigned char *record, uint64_t end,
                         const char *path, journal_visit *visit, void *context, struct error *error)
{
    const bool good = journal_record_compute(record, codec->sum) == journal_record_sum(record);
    codec->sum = journal_record_sum(record);
    if (!good)
        skip_damaged(codec, end);
    if (!good || (codec->damaged && !has_flag(record, JOURNAL_ALONE))) {
        codec->damaged = !good || !journal_record_is_last(record);
        return true;
    }
    codec->damaged = false;
    return take_sound(codec, record, end, path, visit, context, error);
}

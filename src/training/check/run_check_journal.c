/* Reads the journal once, in blocks. Checks each line, and compares its length and CRC-32 at the
 * points that the checkpoints and the summary have recorded (struct check_mark). */
#include "training/check/internal.h"

#include "base/files/file.h"
#include "base/language.h"
#include "base/text.h"
#include "runs/columns/journal_columns.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { BLOCK = 1 << 16, LINE_LIMIT = 1 << 20, SHOWN = 3 };

struct reading {
    struct check *check;
    const char *file;
    struct check_line line;
    struct text text; /* the part of the line that was read */
    bool too_long;    /* the line is longer than LINE_LIMIT */
    uint64_t number;  /* the line's number, from 1 */
    uint64_t begins;  /* offset of the line */
    uint64_t offset;  /* bytes read */
    uint64_t faults;  /* wrong lines */
    uint32_t sum;     /* CRC-32 of the bytes read */
    bool is_aside;    /* it is the journal from before the run began again */
};

/* Reports a problem of the file. The journal of before the run began again was not synced before
 * the kill or the power cut, which may have torn it; its iterations were computed again, so nothing
 * depends on it. */
#define report_journal(reading, ...)                                                               \
    ((reading)->is_aside                                                                           \
         ? check_report((reading)->check, (reading)->file, RUN_PROBLEM_WARNING, REMEDY_DELETE,     \
                        __VA_ARGS__)                                                               \
         : check_damage((reading)->check, (reading)->file, REMEDY_RECORD, __VA_ARGS__))

/* --- lines --- */

/* Reports a damaged line. Reports only the first SHOWN and counts the others. */
static void fault(struct reading *reading, const char *why, const char *detail)
{
    if (reading->faults++ >= SHOWN)
        return;
    const unsigned long long number = reading->number, byte = reading->begins;
    if (detail[0])
        report_journal(reading, _("line %llu (byte %llu): %s: %s"), number, byte, why, detail);
    else
        report_journal(reading, _("line %llu (byte %llu): %s"), number, byte, why);
}

static bool is_zeroed(const struct text *text)
{
    return text->length > 0 && memchr(text->data, '\0', text->length);
}

static void end_line(struct reading *reading)
{
    char detail[200] = "";
    const char *why = NULL;
    struct json_document document;
    const struct text *text = &reading->text;
    reading->number++;
    if (reading->too_long)
        why = _("it is longer than a line of a journal can be");
    else if (is_zeroed(text))
        why = _("it holds zeros: a part of the file never reached the disk");
    else if (text->length == 0)
        why = _("it is not JSON");
    else if (check_journal_point(&reading->line, text->data, text->length, &why, detail))
        ; /* nearly all lines are iterations, which are checked by now */
    else if (!json_parse(&document, text->data, text->length, "", NULL))
        why = _("it is not JSON");
    else {
        why = check_journal_line(&reading->line, document.root, detail);
        json_document_free(&document);
    }
    if (why)
        fault(reading, why, detail);
    reading->text.length = 0;
    reading->too_long = false;
    reading->begins = reading->offset;
}

static void take_bytes(struct reading *reading, const char *bytes, size_t count)
{
    if (reading->text.length + count > LINE_LIMIT)
        reading->too_long = true;
    else
        text_append_bytes(&reading->text, bytes, count);
    reading->offset += count;
}

/* --- marks --- */

/* Returns the number of bytes until the next mark, at most `most`. */
static size_t until_mark(const struct reading *reading, size_t most)
{
    for (size_t i = 0; !reading->is_aside && i < MARKS; i++) {
        const struct check_mark *mark = &reading->check->marks[i];
        if (mark->file && mark->length > reading->offset && mark->length - reading->offset < most)
            most = (size_t)(mark->length - reading->offset);
    }
    return most;
}

/* Records length, CRC-32 and iteration for the marks at the present offset. */
static void meet_marks(struct reading *reading)
{
    for (size_t i = 0; !reading->is_aside && i < MARKS; i++) {
        struct check_mark *mark = &reading->check->marks[i];
        if (!mark->file || mark->length != reading->offset)
            continue;
        mark->reached = true;
        mark->whole_lines = reading->begins == reading->offset;
        mark->found_crc32 = reading->sum;
        mark->found_iteration = reading->line.record->last.iteration;
    }
}

/* --- the file --- */

static void take_block(struct reading *reading, const char *block, size_t count)
{
    while (count > 0) {
        size_t part = until_mark(reading, count);
        const char *newline = memchr(block, '\n', part);
        if (newline)
            part = (size_t)(newline - block) + 1;
        reading->sum = (uint32_t)crc32_z(reading->sum, (const unsigned char *)block, part);
        if (newline) {
            take_bytes(reading, block, part - 1);
            reading->offset++;
            end_line(reading);
        } else
            take_bytes(reading, block, part);
        meet_marks(reading);
        block += part;
        count -= part;
    }
}

static bool read_file(struct reading *reading)
{
    struct error error = {0};
    char block[BLOCK], *path = check_path(reading->check, reading->file);
    FILE *stream = path ? file_open_stream(path, &error) : NULL;
    free(path);
    if (!stream) {
        reading->check->out_of_memory |= error.kind == ERROR_MEMORY;
        report_journal(reading, "%s", error.why);
        return false;
    }
    meet_marks(reading);
    for (size_t got; (got = fread(block, 1, sizeof block, stream)) > 0;)
        take_block(reading, block, got);
    if (ferror(stream))
        report_journal(reading, _("it cannot be read beyond byte %llu"),
                       (unsigned long long)reading->offset);
    fclose(stream);
    return true;
}

static void read_lines(struct reading *reading)
{
    struct check_record *record = reading->line.record;
    record->best_top1 = record->best_validation_loss = NAN;
    record->read = read_file(reading);
    record->size = reading->offset;
    record->torn = reading->begins < reading->offset;
    reading->check->out_of_memory |= reading->text.failed;
    text_free(&reading->text);
    if (reading->faults > SHOWN)
        report_journal(reading, _("%llu more lines are wrong"),
                       (unsigned long long)(reading->faults - SHOWN));
}

static void compare_mark(struct check *check, const char *file, const struct check_mark *mark)
{
    if (!mark->reached)
        check_damage(check, file, REMEDY_RECORD,
                     _("it has %llu bytes, but %s was written when it had %llu: its end is lost"),
                     (unsigned long long)check->record.size, mark->file,
                     (unsigned long long)mark->length);
    else if (mark->has_crc32 && mark->crc32 != mark->found_crc32)
        check_damage(check, file, REMEDY_RECORD,
                     _("the checksum of its first %llu bytes is %08x, but %s says %08x: they have "
                       "changed"),
                     (unsigned long long)mark->length, (unsigned)mark->found_crc32, mark->file,
                     (unsigned)mark->crc32);
    else if (!mark->whole_lines)
        check_damage(check, file, REMEDY_RECORD,
                     _("no line ends at byte %llu, where one ended when %s was written"),
                     (unsigned long long)mark->length, mark->file);
    else if (mark->has_iteration && mark->found_iteration != mark->iteration)
        check_damage(check, file, REMEDY_RECORD, _("it has %llu iterations where %s says %llu"),
                     (unsigned long long)mark->found_iteration, mark->file,
                     (unsigned long long)mark->iteration);
}

void check_journal(struct check *check, const char *file)
{
    struct reading reading = {
        .check = check,
        .file = file,
        .line = {.record = &check->record, .imported = check->facts.imported[0] != '\0'}};
    if (!check->has_config)
        return; /* which lines are valid depends on whether the run was imported */
    read_lines(&reading);
    if (!check->record.read)
        return;
    /* resuming cuts the journal while the old summary still exists */
    for (size_t i = 0; i < MARKS; i++)
        if (check->marks[i].file && !(check->alive && i == MARK_SUMMARY))
            compare_mark(check, file, &check->marks[i]);
}

/* Checks the journal that a run had before it began again from its first iteration. */
void check_old_journal(struct check *check, const char *file)
{
    struct check_record record = {0};
    struct reading reading = {
        .check = check,
        .file = file,
        .is_aside = true,
        .line = {.record = &record, .imported = check->facts.imported[0] != '\0'}};
    if (check->has_config)
        read_lines(&reading);
}

/* Checks the column file. A column file that does not fit costs only time: readers ignore it and
 * write it again. */
void check_columns(struct check *check, const char *file)
{
    struct error error = {0};
    const struct check_mark *end = &check->marks[MARK_SUMMARY];
    const struct journal_sum known = {.length = end->length, .crc32 = end->found_crc32};
    if (check->alive ||
        journal_columns_check(check->directory, end->reached ? &known : NULL, &error))
        return;
    check->out_of_memory |= error.kind == ERROR_MEMORY;
    check_report(check, file, RUN_PROBLEM_WARNING, REMEDY_DELETE, _("%s; it is not used"),
                 error.why);
}

/* Reads the journal once, checks each entry, and compares it with the places that the checkpoints
 * and the summary have recorded (struct check_mark). */
#include "training/check/internal.h"

#include "base/files/file.h"
#include "base/language.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SHOWN = 3, DETAIL = 200 };

struct reading {
    struct check *check;
    const char *file;
    struct check_record *record;
    uint64_t number; /* of the entry, from 1 */
    uint64_t end;    /* of the last entry */
    uint64_t faults; /* wrong entries */
    bool is_text;    /* it is a journal of an earlier version */
    bool is_aside;   /* it is the journal from before the run began again */
};

/* Reports what is wrong with the file. A journal that was put aside was not synced before the kill
 * or the power cut, which may have torn it; its iterations were computed again, so nothing depends
 * on it. */
#define report_journal(reading, ...)                                                               \
    ((reading)->is_aside                                                                           \
         ? check_report((reading)->check, (reading)->file, RUN_PROBLEM_WARNING, REMEDY_DELETE,     \
                        __VA_ARGS__)                                                               \
         : check_damage((reading)->check, (reading)->file, REMEDY_RECORD, __VA_ARGS__))

/* --- entries --- */

/* Records for the marks of this form of journal that an entry ends at their place. */
static void meet_marks(struct reading *reading)
{
    for (size_t i = 0; !reading->is_aside && i < MARKS; i++) {
        struct check_mark *mark = &reading->check->marks[i];
        if (!mark->file || mark->end.is_text != reading->is_text ||
            mark->end.length != reading->end)
            continue;
        mark->is_met = true;
        mark->found_iteration = reading->record->last.iteration;
    }
}

static bool take_entry(void *context, const struct journal_line *line, struct error *error)
{
    char detail[DETAIL];
    struct reading *reading = context;
    const bool imported = reading->check->facts.imported[0];
    const char *why = check_journal_line(reading->record, line, imported, detail);
    const unsigned long long number = ++reading->number, byte = reading->end;
    (void)error;
    reading->end = line->end;
    meet_marks(reading);
    if (!why || reading->faults++ >= SHOWN)
        return true; /* only the first ones are reported, the others are counted */
    if (detail[0])
        report_journal(reading, _("entry %llu (byte %llu): %s: %s"), number, byte, why, detail);
    else
        report_journal(reading, _("entry %llu (byte %llu): %s"), number, byte, why);
    return true;
}

static uint64_t size_of(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
}

/* Reads the file. A record or a line that is incomplete at its end is torn: the process was killed
 * when it wrote it. */
static void read_entries(struct reading *reading)
{
    struct error error = {0};
    struct journal_found found;
    struct check_record *record = reading->record;
    char *path = check_path(reading->check, reading->file);
    reading->is_text = strstr(reading->file, ".jsonl");
    record->best_top1 = record->best_validation_loss = (double)NAN;
    record->read = path && journal_read_file(path, reading->is_text, UINT64_MAX, take_entry,
                                             reading, &found, &error);
    if (path && !record->read)
        report_journal(reading, "%s", error.why);
    reading->check->out_of_memory |= error.kind == ERROR_MEMORY;
    if (record->read && found.faults > 0)
        report_journal(reading, _("%llu of its records are damaged, the first one at byte %llu"),
                       (unsigned long long)found.faults, (unsigned long long)found.first_fault);
    else if (record->read)
        record->torn = size_of(path) > reading->end;
    if (reading->faults > SHOWN)
        report_journal(reading, _("%llu more entries are wrong"),
                       (unsigned long long)(reading->faults - SHOWN));
    free(path);
}

/* --- marks --- */

static void compare_mark(struct check *check, const char *file, const struct check_mark *mark)
{
    uint32_t sum = 0;
    struct error error = {0};
    const unsigned long long length = mark->end.length;
    if (!journal_sum_at(check->directory, mark->end.is_text, length, &sum, &error))
        check_damage(check, file, REMEDY_RECORD, _("%s when %s was written: its end is lost"),
                     error.why, mark->file);
    else if (mark->end.has_sum && mark->end.sum != sum)
        check_damage(check, file, REMEDY_RECORD,
                     _("the checksum of its first %llu bytes is %08x, but %s says %08x: they have "
                       "changed"),
                     length, (unsigned)sum, mark->file, (unsigned)mark->end.sum);
    else if (!mark->is_met)
        check_damage(check, file, REMEDY_RECORD,
                     _("no entry ends at byte %llu, where one ended when %s was written"), length,
                     mark->file);
    else if (mark->has_iteration && mark->found_iteration != mark->iteration)
        check_damage(check, file, REMEDY_RECORD, _("it has %llu iterations where %s says %llu"),
                     (unsigned long long)mark->found_iteration, mark->file,
                     (unsigned long long)mark->iteration);
}

/* A journal.jsonl beside a journal was converted, and only checkpoints are compared with it. */
void check_journal(struct check *check, const char *file)
{
    struct check_record unused = {0};
    const bool counts = strcmp(file, check->journal) == 0;
    struct reading reading = {
        .check = check, .file = file, .record = counts ? &check->record : &unused};
    if (!check->has_config)
        return; /* which entries are valid depends on whether the run was imported */
    read_entries(&reading);
    if (!reading.record->read)
        return;
    /* resuming cuts the journal while the old summary still exists */
    for (size_t i = 0; i < MARKS; i++)
        if (check->marks[i].file && check->marks[i].end.is_text == reading.is_text &&
            !(check->alive && i == MARK_SUMMARY))
            compare_mark(check, file, &check->marks[i]);
}

/* Checks the journal that a run had before it began again from its first iteration. */
void check_old_journal(struct check *check, const char *file)
{
    struct check_record record = {0};
    struct reading reading = {.check = check, .file = file, .record = &record, .is_aside = true};
    if (check->has_config)
        read_entries(&reading);
}

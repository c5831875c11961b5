/* Reads the journal once, verifies its records, and compares it with the places that the
 * checkpoints and the summary have recorded (struct check_mark). */
#include "training/check/internal.h"

#include "base/language.h"
#include "runs/folder/run_files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct reading {
    struct check *check;
    const char *file;
    struct check_record *record;
    uint64_t size; /* of the file */
    uint64_t end;  /* of the last entry */
    bool is_text;  /* it is a journal of an earlier version */
    bool is_aside; /* it is the journal from before the run began again */
};

/* Reports a problem of the file. The journal of before the run began again was not synced before
 * the kill or the power cut, which may have torn it; its iterations were computed again, so nothing
 * depends on it. */
#define report_journal(reading, ...)                                                               \
    ((reading)->is_aside                                                                           \
         ? check_report((reading)->check, (reading)->file, RUN_PROBLEM_WARNING, REMEDY_DELETE,     \
                        __VA_ARGS__)                                                               \
         : check_damage((reading)->check, (reading)->file, REMEDY_RECORD, __VA_ARGS__))

/* --- entries --- */

/* These functions collect the values that the other checks compare with. The checksums of the
 * records tell whether the entries are those that the run wrote. */

static void take_point(struct check_record *record, const struct series_point *point)
{
    record->has_null_loss |= !isfinite(point->loss);
    record->last = *point;
    record->points++;
}

static void take_validation(struct check_record *record, const struct series_validation *validation)
{
    record->validations++;
    if (isfinite(validation->loss) && !((double)validation->loss >= record->best_validation_loss))
        record->best_validation_loss = (double)validation->loss;
    record->last_validation = *validation;
    if (!isnan(validation->top1) && !((double)validation->top1 <= record->best_top1))
        record->best_top1 = (double)validation->top1;
}

static void take_event(struct check_record *record, const struct json *json)
{
    struct finding finding;
    const char *event = json_string(json_member(json, "event"));
    if (!record->started && run_files_read_start(json, &record->facts, &record->snapshot))
        record->started = true;
    if (journal_read_finding(json, &finding)) {
        record->has_divergence |= finding.kind == FINDING_DIVERGENCE;
        record->has_plateau |=
            finding.kind == FINDING_PLATEAU || finding.kind == FINDING_EARLY_STOP;
    }
    if (!event)
        return;
    record->ended |= strcmp(event, "end") == 0;
    record->checkpoints += strcmp(event, "checkpoint") == 0;
    if (strcmp(event, "test") == 0)
        run_files_read_test(json, &record->test);
}

/* Adds an entry to the record. */
static void collect(struct check_record *record, const struct journal_line *line)
{
    record->goes_on_after_validation |= record->validations > 0;
    if (line->point)
        take_point(record, line->point);
    if (line->validation)
        take_validation(record, line->validation);
    if (line->json)
        take_event(record, line->json);
}

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
    struct reading *reading = context;
    (void)error;
    collect(reading->record, line);
    reading->end = line->end;
    meet_marks(reading);
    return true;
}

/* Reads the file. A record or a line that is incomplete at its end is torn: the process was killed
 * when it wrote it. */
static void read_entries(struct reading *reading)
{
    struct error error = {0};
    struct stat status;
    struct journal_found found;
    struct check_record *record = reading->record;
    char *path = check_path(reading->check, reading->file);
    reading->is_text = strstr(reading->file, ".jsonl");
    record->best_top1 = record->best_validation_loss = (double)NAN;
    record->read = path && journal_read_file(path, reading->is_text, UINT64_MAX, take_entry,
                                             reading, &found, &error);
    if (path && stat(path, &status) == 0)
        reading->size = (uint64_t)status.st_size;
    if (path && !record->read && error.kind == ERROR_UNSUPPORTED)
        check_damage(reading->check, reading->file, REMEDY_VERSION, "%s", error.why);
    else if (path && !record->read)
        report_journal(reading, "%s", error.why);
    reading->check->out_of_memory |= error.kind == ERROR_MEMORY;
    if (record->read && found.faults > 0)
        report_journal(reading, _("%llu of its records are damaged, the first one at byte %llu"),
                       (unsigned long long)found.faults, (unsigned long long)found.first_fault);
    else if (record->read)
        record->torn = reading->size > reading->end;
    free(path);
}

/* --- marks --- */

static void compare_mark(const struct reading *reading, const struct check_mark *mark)
{
    struct check *check = reading->check;
    const char *file = reading->file;
    const bool is_end = mark == &check->marks[MARK_SUMMARY];
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
    else if (is_end && reading->size > length)
        check_damage(check, file, REMEDY_RECORD, _("it goes on after the end that %s records"),
                     mark->file);
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
            compare_mark(&reading, &check->marks[i]);
}

/* Checks the journal that a run had before it began again from its first iteration. */
void check_old_journal(struct check *check, const char *file)
{
    struct check_record record = {0};
    struct reading reading = {.check = check, .file = file, .record = &record, .is_aside = true};
    if (check->has_config)
        read_entries(&reading);
}

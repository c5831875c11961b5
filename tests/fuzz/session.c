/* What tinca reads back of what it wrote: the bytes are every file of a run's directory at once
 * (config.json, the journal, the summary, measurements, a profile, the user's name for it), then
 * the journal of a run whose config.json is good, in lines and in records, then a sweep's grid and
 * a study's votes. */
#include "base/files/file.h"
#include "fuzz.h"
#include "models/measure/measurement.h"
#include "runs/folder/inspection.h"
#include "runs/folder/journal_record.h"
#include "runs/folder/run_name.h"
#include "runs/record/run_open.h"
#include "studies/pictures/study_file.h"
#include "studies/sweep/sweep_grid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char good_config[] =
    "{\"format\": \"tinca-run\", \"version\": 1, \"id\": \"x\", \"config\": {\"network\": "
    "\"mlp\", \"data\": \"digits\"}}";

/* One file with many hard links: writing it once writes all of them. */
static void link_to(const char *input, const char *name)
{
    const char *path = scratch_path(name);
    if (link(input, path) != 0) {
        perror(path);
        exit(99);
    }
}

static const char *prepare(void)
{
    static const char *const names[] = {
        "all/config.json",  "all/journal.jsonl", "all/summary.json",     "all/measurements.json",
        "all/profile.json", "all/name.txt",      "journal/journal.jsonl"};
    static char input[128];
    if (input[0])
        return input;
    snprintf(input, sizeof input, "%s", scratch_write("input.json", "", 0));
    mkdir(scratch_path("all"), 0700);
    mkdir(scratch_path("journal"), 0700);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        link_to(input, names[i]);
    mkdir(scratch_path("records"), 0700);
    scratch_write("journal/config.json", good_config, strlen(good_config));
    scratch_write("records/config.json", good_config, strlen(good_config));
    return input;
}

/* Writes the bytes as the records of a journal, each with the checksum that its contents need: with
 * a wrong one a record is skipped. */
static void write_records(const uint8_t *data, size_t size)
{
    struct journal_codec codec = {0};
    struct text text = {0};
    journal_put_header(&codec, &text);
    for (; size >= JOURNAL_RECORD; data += JOURNAL_RECORD, size -= JOURNAL_RECORD) {
        unsigned char record[JOURNAL_RECORD];
        memcpy(record, data, sizeof record);
        codec.sum = journal_record_compute(record, codec.sum);
        for (size_t i = 0; i < 4; i++)
            record[JOURNAL_RECORD - 4 + i] = (unsigned char)(codec.sum >> 8 * i);
        text_append_bytes(&text, (const char *)record, sizeof record);
    }
    scratch_write("records/journal", text.data, text.length);
    text_free(&text);
    journal_codec_free(&codec);
}

static void look_at_run(const char *directory)
{
    struct error error;
    struct run_outline outline;
    struct run_snapshot snapshot;
    run_peek(directory, &outline, &error);
    struct run *run = run_open(directory, &error);
    if (run) {
        run_snapshot(run, &snapshot);
        run_inspection(run, &error);
    }
    run_free(run);
}

static void look_at_the_rest(const char *input)
{
    struct error error;
    struct measurements measurements;
    struct study_file study;
    struct sweep_grid grid;
    char name[RUN_NAME_SIZE];
    if (measurements_read(&measurements, scratch_path("all"), &error))
        measurements_free(&measurements);
    if (study_file_read(&study, input, true, &error))
        study_file_free(&study);
    sweep_grid_begin(&grid);
    if (sweep_grid_read(&grid, input, &error) && sweep_grid_complete(&grid, &error))
        sweep_grid_cells(&grid);
    sweep_grid_free(&grid);
    inspection_free(inspection_load(scratch_path("all"), &error));
    run_name_read(scratch_path("all"), name);
}

void fuzz_session(const uint8_t *data, size_t size)
{
    const char *input = prepare();
    scratch_write("input.json", data, size);
    look_at_run(scratch_path("all"));
    look_at_run(scratch_path("journal"));
    write_records(data, size);
    look_at_run(scratch_path("records"));
    look_at_the_rest(input);
}

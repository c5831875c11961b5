/* journal_lines FILE...: prints the entries of journals as lines of JSON, as tinca train --json
 * does; those that are missing have none. journal_lines -w FILE LINES: writes the lines of a file
 * as a journal; a line that is not JSON becomes an event all the same. */
#include "base/files/file.h"
#include "base/files/lines.h"
#include "runs/folder/journal_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool print(void *context, const struct journal_line *line, struct error *error)
{
    struct text *text = context;
    (void)error;
    journal_print_line(text, line);
    text_append_bytes(text, "\n", 1);
    text_drain(text, stdout);
    return true;
}

struct writing {
    struct journal_codec codec;
    struct text text;
};

static bool put(void *context, const struct journal_line *line, struct error *error)
{
    struct writing *writing = context;
    (void)error;
    if (line->point)
        journal_put_point(&writing->codec, &writing->text, line->point);
    else if (line->validation)
        journal_put_validation(&writing->codec, &writing->text, line->validation);
    else
        journal_put_text(&writing->codec, &writing->text, line->text, line->length);
    return true;
}

static bool write_lines(const char *path, const char *from, struct error *error)
{
    size_t length;
    bool is_json;
    struct lines lines;
    struct writing writing = {0};
    if (!lines_open(&lines, from, 1 << 24, error))
        return false;
    journal_put_header(&writing.codec, &writing.text);
    for (char *line; (line = lines_next(&lines, &length, error));) {
        journal_visit_text(line, length, 0, from, put, &writing, &is_json, error);
        if (!is_json)
            journal_put_text(&writing.codec, &writing.text, line, length);
    }
    lines_close(&lines);
    const bool written = file_write(path, writing.text.data, writing.text.length, true, error);
    text_free(&writing.text);
    return written;
}

int main(int count, char **words)
{
    char message[1200];
    struct error error = {0};
    struct text text = {0};
    bool good = true;
    if (count == 4 && strcmp(words[1], "-w") == 0)
        good = write_lines(words[2], words[3], &error);
    else
        for (int i = 1; good && i < count; i++)
            good =
                !file_exists(words[i]) || journal_read_file(words[i], strstr(words[i], ".jsonl"),
                                                            UINT64_MAX, print, &text, NULL, &error);
    if (!good)
        fprintf(stderr, "journal_lines: %s\n", error_format(&error, message, sizeof message));
    text_free(&text);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

#include "ui/shared/log_model.h"

#include <stdio.h>
#include <string.h>

void log_add(struct log *book, enum role role, const char *text)
{
    size_t place = (book->first + book->count) % LOG_LINES;
    if (book->count < LOG_LINES)
        book->count++;
    else {
        book->first = (book->first + 1) % LOG_LINES;
        book->forgotten++;
    }
    struct log_line *line = &book->lines[place];
    *line = (struct log_line){.when = time(NULL), .role = role};
    snprintf(line->text, sizeof line->text, "%s", text);
}

void log_set_run_directory(struct log *book, const char *directory)
{
    if (book->count == 0 || !directory)
        return;
    struct log_line *line = &book->lines[(book->first + book->count - 1) % LOG_LINES];
    snprintf(line->directory, sizeof line->directory, "%s", directory);
}

const struct log_line *log_line(const struct log *book, size_t n)
{
    return &book->lines[(book->first + n) % LOG_LINES];
}

bool log_matches(const struct log_line *line, const char *search)
{
    return !search[0] || strcasestr(line->text, search);
}

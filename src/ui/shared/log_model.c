#include "ui/shared/shared.h"

#include <stdio.h>
#include <string.h>

void log_add(struct log *log, enum role role, const char *text)
{
    size_t place = (log->first + log->count) % LOG_LINES;
    if (log->count < LOG_LINES)
        log->count++;
    else {
        log->first = (log->first + 1) % LOG_LINES;
    }
    struct log_line *line = &log->lines[place];
    *line = (struct log_line){.when = time(NULL), .role = role};
    snprintf(line->text, sizeof line->text, "%s", text);
}

void log_set_run_directory(struct log *log, const char *directory)
{
    if (log->count == 0 || !directory)
        return;
    struct log_line *line = &log->lines[(log->first + log->count - 1) % LOG_LINES];
    snprintf(line->directory, sizeof line->directory, "%s", directory);
}

const struct log_line *log_line(const struct log *log, size_t n)
{
    return &log->lines[(log->first + n) % LOG_LINES];
}

bool log_matches(const struct log_line *line, const char *search)
{
    return !search[0] || strcasestr(line->text, search);
}

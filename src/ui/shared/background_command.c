/* The standard error of the process is a file without a name, which background_command_report
 * reads.
 */
#include "ui/shared/detach.h"

#include "base/host/spawn.h"
#include "base/language.h"
#include "base/memory.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* --- the command line --- */

/* Returns a new text as printf writes it, or NULL. */
static char *format_text(const char *format, va_list values)
{
    va_list again;
    va_copy(again, values);
    const int length = vsnprintf(NULL, 0, format, values);
    char *text = length >= 0 ? malloc((size_t)length + 1) : NULL;
    if (text)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

void background_command_add(struct background_command *command, const char *format, ...)
{
    va_list values;
    if (!memory_grow(&command->words, &command->capacity, command->count + 2,
                     sizeof *command->words, "a command line", NULL)) {
        command->failed = true;
        return;
    }
    va_start(values, format);
    char *word = format_text(format, values);
    va_end(values);
    if (word)
        command->words[command->count++] = word;
    else
        command->failed = true;
}

/* --- the process --- */

bool background_command_start(struct background_command *command, struct error *error)
{
    if (command->failed)
        return error_set_memory(error, "a command line", 0);
    command->messages = tmpfile();
    if (!command->messages)
        return error_set_errno(error, N_("the background process"),
                               N_("check the space in the folder of temporary files"),
                               "no temporary file can be made");
    const struct spawn spawn = {.words = (const char *const *)command->words,
                                .messages = fileno(command->messages),
                                .group = SPAWN_SESSION_OWN};
    errno = spawn_start(&spawn, &command->process);
    if (errno == 0)
        return true;
    command->process = 0;
    return error_set_errno(error, N_("the background process"), N_("end other programs first"),
                           "no process can be started");
}

bool background_command_has_ended(const struct background_command *command)
{
    return command->process > 0 && waitpid(command->process, NULL, WNOHANG) != 0;
}

bool background_command_report(const struct background_command *command, struct error *error)
{
    char text[300];
    rewind(command->messages);
    const size_t length = fread(text, 1, sizeof text - 1, command->messages);
    text[length] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return error_set(error, ERROR_SYSTEM, N_("the background process"),
                     N_("nothing is lost: r in the list of runs continues the run here"), "%s",
                     text[0] ? text : _("it ended without a message"));
}

void background_command_free(struct background_command *command)
{
    for (size_t i = 0; i < command->count; i++)
        free(command->words[i]);
    free(command->words);
    if (command->messages)
        fclose(command->messages);
    *command = (struct background_command){0};
}

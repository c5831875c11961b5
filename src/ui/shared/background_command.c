/* The process is started by posix_spawn from /proc/self/exe, so that it is this very program. Its
 * standard error is a file without a name, which background_command_report reads. */
#include "ui/shared/background_command.h"

#include "base/language.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

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

/* Gives the process a session and the usual signals, without the workbench's handlers. */
static int set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGHUP);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setsigdefault(attributes, &defaults);
    return posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
                                                    POSIX_SPAWN_SETSIGDEF);
}

static int redirect(posix_spawn_file_actions_t *actions, FILE *messages)
{
    int failed = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!failed)
        failed = posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(actions, fileno(messages), STDERR_FILENO);
    return failed;
}

/* Returns 0 or an error number. */
static int spawn(struct background_command *command)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed)
        return failed;
    failed = posix_spawnattr_init(&attributes);
    if (!failed) {
        failed = redirect(&actions, command->messages);
        if (!failed)
            failed = set_attributes(&attributes);
        if (!failed)
            failed = posix_spawn(&command->process, "/proc/self/exe", &actions, &attributes,
                                 command->words, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

bool background_command_start(struct background_command *command, struct error *error)
{
    if (command->failed)
        return error_set_memory(error, "a command line", 0);
    command->messages = tmpfile();
    if (!command->messages)
        return error_set_errno(error, N_("the background process"),
                               N_("check the space in the folder of temporary files"),
                               "no temporary file can be made");
    errno = spawn(command);
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

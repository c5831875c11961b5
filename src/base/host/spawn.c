/* The child is started by posix_spawn, on Linux from /proc/self/exe, so that it is this very
 * program even if its file was replaced meanwhile. Where posix_spawn makes no session, the child
 * makes one itself, which an environment variable tells it. Only the child itself can ask the
 * kernel for a signal when its parent ends, so an environment variable tells it to. */
#include "config.h"

#include "base/host/spawn.h"

#include "base/host/control_group.h"
#include "base/program_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <unistd.h>

extern char **environ;

#if !HAVE_DECL_POSIX_SPAWN_SETSID
#define POSIX_SPAWN_SETSID 0
#endif

static const char session_variable[] = "TINCA_SESSION"; /* the child should make a session */
static const char parent_variable[] = "TINCA_PARENT"; /* the process that the child is tied to, and
                                                         the signal that comes when it ends */

/* The variables that tell the child about its group and its parent; empty: none. */
struct child_variables {
    char group[48], sign[48];
};

static int redirect(posix_spawn_file_actions_t *actions, const struct spawn *spawn)
{
    const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW;
    int failed = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!failed)
        failed = spawn->output ? posix_spawn_file_actions_addopen(actions, STDOUT_FILENO,
                                                                  spawn->output, flags, 0600)
                               : posix_spawn_file_actions_addopen(actions, STDOUT_FILENO,
                                                                  "/dev/null", O_WRONLY, 0);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(
            actions, spawn->messages >= 0 ? spawn->messages : STDOUT_FILENO, STDERR_FILENO);
    return failed;
}

static int set_attributes(posix_spawnattr_t *attributes, enum spawn_group group)
{
    static const short groups[] = {[SPAWN_GROUP_SHARED] = 0,
                                   [SPAWN_GROUP_OWN] = POSIX_SPAWN_SETPGROUP,
                                   [SPAWN_SESSION_OWN] = POSIX_SPAWN_SETSID,
                                   [SPAWN_GROUP_TIED] = POSIX_SPAWN_SETPGROUP,
                                   [SPAWN_GROUP_BOUND] = 0};
    sigset_t blocked, defaults;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    if (group == SPAWN_SESSION_OWN)
        sigaddset(&defaults, SIGHUP);
    int failed = posix_spawnattr_setsigmask(attributes, &blocked);
    if (!failed)
        failed = posix_spawnattr_setsigdefault(attributes, &defaults);
    if (!failed && groups[group] == POSIX_SPAWN_SETPGROUP)
        failed = posix_spawnattr_setpgroup(attributes, 0);
    if (!failed)
        failed = posix_spawnattr_setflags(
            attributes, (short)(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | groups[group]));
    return failed;
}

/* Returns whether the variable, "NAME=VALUE", has the name. */
static bool has_name(const char *variable, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(variable, name, length) == 0 && variable[length] == '=';
}

/* Returns the environment of the child: that of this process, and the variables of the child. The
 * caller frees the list. */
static char **make_environment(const struct spawn *spawn, struct child_variables *own)
{
    size_t count = 0;
    while (environ[count])
        count++;
    char **variables = calloc(count + 3, sizeof *variables);
    if (!variables)
        return NULL;
    count = 0;
    for (size_t i = 0; environ[i]; i++)
        if (!spawn->sign || !has_name(environ[i], spawn->sign))
            variables[count++] = environ[i];
    if (own->group[0])
        variables[count++] = own->group;
    if (own->sign[0])
        variables[count++] = own->sign;
    return variables;
}

/* Starts the child. Returns 0 or an error number. */
static int start(const struct spawn *spawn, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, pid_t *process)
{
    char program[4096];
    struct child_variables own = {0};
    if (!program_file_executable(program, sizeof program))
        return ENOENT;
    if (spawn->group == SPAWN_GROUP_TIED || spawn->group == SPAWN_GROUP_BOUND)
        snprintf(own.group, sizeof own.group, "%s=%ld %d", parent_variable, (long)getpid(),
                 spawn->group == SPAWN_GROUP_TIED ? SIGTERM : SIGKILL);
    else if (spawn->group == SPAWN_SESSION_OWN && POSIX_SPAWN_SETSID == 0)
        snprintf(own.group, sizeof own.group, "%s=1", session_variable);
    if (spawn->sign)
        snprintf(own.sign, sizeof own.sign, "%s=%ld", spawn->sign, (long)getpid());
    char **variables = make_environment(spawn, &own);
    const int failed = variables ? posix_spawn(process, program, actions, attributes,
                                               (char *const *)spawn->words, variables)
                                 : ENOMEM;
    free(variables);
    return failed;
}

int spawn_start(const struct spawn *spawn, pid_t *process)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed)
        return failed;
    failed = posix_spawnattr_init(&attributes);
    if (!failed) {
        failed = redirect(&actions, spawn);
        if (!failed)
            failed = set_attributes(&attributes, spawn->group);
        if (!failed)
            failed = start(spawn, &actions, &attributes, process);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

void spawn_follow_parent(void)
{
    const char *parent = getenv(parent_variable);
    if (getenv(session_variable)) {
        setsid();
        unsetenv(session_variable);
    }
    if (!parent)
        return;
#ifdef __linux__
    char *end;
    const long process = strtol(parent, &end, 10);
    const int signal = strtol(end, NULL, 10) == SIGKILL ? SIGKILL : SIGTERM;
    prctl(PR_SET_PDEATHSIG, signal);
    if ((long)getppid() != process)
        raise(signal);
#endif
    unsetenv(parent_variable);
}

bool spawn_was_signed(const char *sign)
{
    const char *parent = getenv(sign); /* a process further down inherits it, too */
    return parent && strtol(parent, NULL, 10) == (long)getppid();
}

/* --- other processes --- */

bool process_stat_read(long pid, struct process_stat *stat)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *file = fopen(path, "r");
    const size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[length] = '\0';
    const char *name_end = strrchr(text, ')'); /* the name may have spaces and brackets */
    return name_end && sscanf(name_end + 1,
                              " %c %*d %*d %*d %d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
                              "%*d %*d %llu",
                              &stat->state, &stat->terminal, &stat->started) == 3;
}

/* --- the end of a child --- */

uint64_t process_end_memory_kills(void)
{
    char line[128];
    uint64_t kills = 0;
    FILE *file = fopen("/proc/vmstat", "re");
    while (file && fgets(line, sizeof line, file) && sscanf(line, "oom_kill %" SCNu64, &kills) != 1)
        continue;
    if (file)
        fclose(file);
    return kills + control_group_memory_kills("");
}

enum process_end process_end_of(int signal, uint64_t kills_before)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (signal == faults[i])
            return PROCESS_END_FAULT;
    return signal == SIGKILL && process_end_memory_kills() > kills_before ? PROCESS_END_MEMORY
                                                                          : PROCESS_END_KILLED;
}

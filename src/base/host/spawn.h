/* spawn.h: starts this very program once more, as a child process; finds facts about another
 * process, and explains the end of a child. */
#ifndef TINCA_BASE_HOST_SPAWN_H
#define TINCA_BASE_HOST_SPAWN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The process group of a child decides which signals of the terminal reach it. */
enum spawn_group {
    SPAWN_GROUP_SHARED, /* the child gets them too: Ctrl-C, and SIGHUP when the terminal closes */
    SPAWN_GROUP_OWN,    /* none reaches it: it has its own process group */
    SPAWN_SESSION_OWN,  /* none reaches it: it has its own session, without a terminal */
    SPAWN_GROUP_TIED,   /* as SPAWN_GROUP_OWN, but it gets SIGTERM when the thread that started it
                           ends (Linux; elsewhere SPAWN_GROUP_OWN) */
    SPAWN_GROUP_BOUND /* as SPAWN_GROUP_SHARED, but it gets SIGKILL when the thread that started it
                         ends, so it never outlives the locks of this process (Linux; elsewhere
                         SPAWN_GROUP_SHARED) */
};

struct spawn {
    const char *const *words; /* the command line, from the program's name on; NULL-terminated */
    const char *output;       /* the file of its standard output, made or emptied; NULL: none */
    int messages;             /* the descriptor of its standard error; -1: as its output */
    enum spawn_group group;
    const char *sign; /* the name of a variable by which the child knows its parent
                         (spawn_was_signed); NULL: none */
};

/* Starts the child and sets *process. Its standard input is empty, it blocks no signal but SIGUSR1,
 * until it can handle that (signals_begin), and those that this process ignores for its terminal's
 * sake have their default again: SIGPIPE, and SIGHUP in a session of its own. Returns 0, or an
 * error number. The caller collects the child (waitpid).
 */
int spawn_start(const struct spawn *spawn, pid_t *process);

/* Ties this process to its parent if the parent asked for it (SPAWN_GROUP_TIED, SPAWN_GROUP_BOUND);
 * ends this process if the parent has ended already. Called once at the start of the program,
 * before there are threads. */
void spawn_follow_parent(void);

/* Returns whether the process that started this one did so with this sign. */
bool spawn_was_signed(const char *sign);

/* --- other processes --- */

struct process_stat {
    char state;                 /* as ps prints it: 'R', 'S', 'Z', ... */
    int terminal;               /* device number of its controlling terminal; 0: none */
    unsigned long long started; /* clock ticks after the system's start */
};

/* Reads /proc/PID/stat (proc(5)). Returns false if there is no such process, or no /proc. */
bool process_stat_read(long pid, struct process_stat *stat);

/* --- the end of a child --- */

/* A signal that ended a child process means a fault of the program, which would come again, a kill
 * by the kernel for a lack of memory, or a kill by somebody.
 *
 * SIGKILL means a lack of memory if the kernel's count of such kills has grown meanwhile. */

enum process_end { PROCESS_END_KILLED, PROCESS_END_MEMORY, PROCESS_END_FAULT };

/* Returns how many processes the kernel has killed for a lack of memory: on the machine (proc(5),
 * vmstat), and in this control group, which a container may show when it hides the former. What is
 * unknown counts as 0: only the growth is of interest. */
uint64_t process_end_memory_kills(void);

/* Returns what the signal means that ended a process. `kills_before`: process_end_memory_kills()
 * before the process began. */
enum process_end process_end_of(int signal, uint64_t kills_before);

#endif

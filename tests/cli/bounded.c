/* bounded SECONDS MIB COMMAND [ARGUMENT]...: runs a command and exits with its status; with 124
 * when it took longer and was killed, 125 when its resident memory was higher, 126 when a signal
 * ended it. The reason for these goes to standard error. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t child;

static void on_alarm(int signal)
{
    (void)signal;
    kill((pid_t)child, SIGKILL);
    child = 0;
}

static int judge(int status, const struct rusage *usage, long mebibytes)
{
    if (!child) {
        fprintf(stderr, "bounded: it had not ended in time\n");
        return 124;
    }
    if (usage->ru_maxrss > mebibytes * 1024) {
        fprintf(stderr, "bounded: its memory reached %ld KiB\n", usage->ru_maxrss);
        return 125;
    }
    if (WIFSIGNALED(status)) {
        fprintf(stderr, "bounded: signal %d ended it\n", WTERMSIG(status));
        return 126;
    }
    return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
    struct rusage usage;
    int status;
    if (argc < 4)
        return 127;
    const pid_t process = fork();
    if (process == 0) {
        execvp(argv[3], argv + 3);
        _exit(127);
    }
    child = (sig_atomic_t)process;
    signal(SIGALRM, on_alarm);
    alarm((unsigned)strtoul(argv[1], NULL, 10));
    while (process > 0 && wait4(process, &status, 0, &usage) < 0)
        if (errno != EINTR)
            return 127;
    return process > 0 ? judge(status, &usage, strtol(argv[2], NULL, 10)) : 127;
}

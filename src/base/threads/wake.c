/* A semaphore, or on macOS, which has none without a name, a pipe. A full pipe wakes as well, so a
 * write that would block is not repeated. */
#include "base/threads/wake.h"

#include <errno.h>

#if HAVE_UNNAMED_SEMAPHORES

bool wake_create(struct wake *wake)
{
    return sem_init(&wake->semaphore, 0, 0) == 0;
}

void wake_free(struct wake *wake)
{
    sem_destroy(&wake->semaphore);
}

void wake_send(struct wake *wake)
{
    const int code = errno;
    sem_post(&wake->semaphore);
    errno = code;
}

void wake_wait(struct wake *wake)
{
    sem_wait(&wake->semaphore);
}

#else

#include <fcntl.h>
#include <unistd.h>

bool wake_create(struct wake *wake)
{
    if (pipe(wake->ends) != 0)
        return false;
    for (int i = 0; i < 2; i++)
        fcntl(wake->ends[i], F_SETFD, FD_CLOEXEC);
    fcntl(wake->ends[1], F_SETFL, O_NONBLOCK);
    return true;
}

void wake_free(struct wake *wake)
{
    close(wake->ends[0]);
    close(wake->ends[1]);
}

void wake_send(struct wake *wake)
{
    const int code = errno;
    const ssize_t unused = write(wake->ends[1], "", 1);
    (void)unused;
    errno = code;
}

void wake_wait(struct wake *wake)
{
    char byte;
    const ssize_t unused = read(wake->ends[0], &byte, 1);
    (void)unused;
}

#endif

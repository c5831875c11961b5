#include "guarded_memory.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A guard page, the pages of the array, and a second guard page. */
struct region {
    struct region *next; /* next in the list `live` or `spare` */
    char *pages;         /* the first page of the array */
    size_t size;         /* the size of these pages in bytes */
    char *array;
    size_t bytes;
    const char *name;
};

static struct region *live, *spare;
static char described[200];
static size_t page;

/* --- access to a guard page --- */

static size_t distance(const char *from, const char *to)
{
    return (size_t)(to - from);
}

/* Writes a description of the address into `text`. Returns false if it is in no guarded block. */
static bool explain(const char *address, char *text, size_t size)
{
    for (const struct region *r = live; r; r = r->next) {
        const char *end = r->array + r->bytes;
        if (address >= r->pages - page && address < r->pages) {
            snprintf(text, size, "byte %zu before %s", distance(address, r->array), r->name);
            return true;
        }
        if (address >= r->pages + r->size && address < r->pages + r->size + page) {
            snprintf(text, size, "byte %zu behind the end of %s", distance(end, address), r->name);
            return true;
        }
    }
    return false;
}

/* snprintf() is acceptable in this handler: the fault is in a kernel, and the program ends. */
static void report(int signal_number, siginfo_t *info, void *context)
{
    char where[128], line[400];
    (void)context;
    if (!explain(info->si_addr, where, sizeof where)) {
        signal(signal_number,
               SIG_DFL); /* not a guard page: the fault repeats and ends the program */
        return;
    }
    int length = snprintf(line, sizeof line, "Bail out! %s reads or writes %s\n", described, where);
    if (write(STDOUT_FILENO, line, (size_t)length) < 0)
        _exit(2);
    _exit(1);
}

static void watch(void)
{
    struct sigaction action = {.sa_sigaction = report, .sa_flags = SA_SIGINFO};
    page = (size_t)sysconf(_SC_PAGESIZE);
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
}

void guarded_describe(const char *what)
{
    snprintf(described, sizeof described, "%s", what);
}

/* --- memory --- */

static struct region *take_spare(size_t size)
{
    for (struct region **at = &spare; *at; at = &(*at)->next)
        if ((*at)->size == size) {
            struct region *found = *at;
            *at = found->next;
            return found;
        }
    return NULL;
}

static struct region *map_region(size_t size)
{
    struct region *r = malloc(sizeof *r);
    char *all = mmap(NULL, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const bool mapped = all != MAP_FAILED;
    if (!r || !mapped || mprotect(all + page, size, PROT_READ | PROT_WRITE)) {
        if (mapped)
            munmap(all, size + 2 * page);
        free(r);
        return NULL;
    }
    *r = (struct region){.pages = all + page, .size = size};
    return r;
}

void *guarded_new(size_t bytes, size_t alignment, enum guarded_side side, const char *name)
{
    if (!page)
        watch();
    const size_t size =
        (bytes + page) / page * page; /* the rest of the pages that the array does not use */
    struct region *r = take_spare(size);
    if (!r && !(r = map_region(size)))
        return NULL;
    r->array = r->pages;
    if (side == GUARDED_END)
        r->array += (size - bytes) / alignment * alignment;
    r->bytes = bytes;
    r->name = name;
    r->next = live;
    live = r;
    memset(r->pages, 0xff, distance(r->pages, r->array)); /* NaN as floats */
    memset(r->array + bytes, 0xff, distance(r->array + bytes, r->pages + size));
    return r->array;
}

void guarded_free(void *memory)
{
    for (struct region **at = &live; memory && *at; at = &(*at)->next)
        if ((*at)->array == memory) {
            struct region *r = *at;
            *at = r->next;
            r->next = spare;
            spare = r;
            return;
        }
}

static bool holds_poison(const char *from, const char *to)
{
    const size_t size = distance(from, to);
    return size == 0 || ((unsigned char)*from == 0xff && memcmp(from, from + 1, size - 1) == 0);
}

const char *guarded_changed(void)
{
    for (const struct region *r = live; r; r = r->next)
        if (!holds_poison(r->pages, r->array) ||
            !holds_poison(r->array + r->bytes, r->pages + r->size))
            return r->name;
    return NULL;
}

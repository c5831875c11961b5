/* Writes a document from memory, or from a file if it is large (struct source). It goes to a
 * temporary file that then replaces the target, if such a file can have the target's owner, mode
 * and attributes; otherwise it goes into the target itself. */
#include "config.h"

#include "base/files/output_file.h"

#include "base/language.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#if HAVE_LINUX_XATTR
#include <sys/xattr.h>
#endif
#include <time.h>
#include <unistd.h>

struct source {
    const char *bytes;
    size_t size;
    int descriptor; /* the file to copy, open at its beginning; -1: the bytes are in memory */
};

/* --- writing to a descriptor --- */

/* Blocks SIGPIPE, so that a pipe whose reader has gone gives an error and does not end the program.
 */
struct pipe_guard {
    sigset_t pipe, before;
    bool was_pending;
};

static void guard_begin(struct pipe_guard *guard)
{
    sigset_t pending;
    sigemptyset(&guard->pipe);
    sigaddset(&guard->pipe, SIGPIPE);
    sigemptyset(&pending);
    sigpending(&pending);
    guard->was_pending = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &guard->pipe, &guard->before);
}

/* Removes a pending signal of the set, which has one member, if there is any. */
static void take_signal(const sigset_t *set)
{
#if HAVE_SIGTIMEDWAIT
    static const struct timespec now = {0};
    while (sigtimedwait(set, NULL, &now) < 0 && errno == EINTR)
        ;
#else
    sigset_t pending;
    int number;
    sigemptyset(&pending);
    if (sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1)
        sigwait(set, &number);
#endif
}

static void guard_end(const struct pipe_guard *guard)
{
    const int code = errno;
    if (!guard->was_pending)
        take_signal(&guard->pipe);
    pthread_sigmask(SIG_SETMASK, &guard->before, NULL);
    errno = code;
}

/* Writes all bytes. Returns false with errno. */
static bool put_bytes(int descriptor, const char *bytes, size_t size)
{
    while (size > 0) {
        const ssize_t written = write(descriptor, bytes, size);
        if (written >= 0) {
            bytes += written;
            size -= (size_t)written;
        } else if (errno == EAGAIN) { /* another process has made the descriptor non-blocking */
            struct pollfd ready = {.fd = descriptor, .events = POLLOUT};
            poll(&ready, 1, -1);
        } else if (errno != EINTR)
            return false;
    }
    return true;
}

static bool put_file(int descriptor, int from)
{
    char block[1 << 16];
    ssize_t got;
    if (lseek(from, 0, SEEK_SET) != 0)
        return false;
    while ((got = read(from, block, sizeof block)) > 0)
        if (!put_bytes(descriptor, block, (size_t)got))
            return false;
    return got == 0;
}

static bool put(int descriptor, const struct source *source)
{
    struct pipe_guard guard;
    guard_begin(&guard);
    const bool written = source->descriptor < 0 ? put_bytes(descriptor, source->bytes, source->size)
                                                : put_file(descriptor, source->descriptor);
    guard_end(&guard);
    return written;
}

/* --- into the target itself --- */

/* Allocates the space of a file. Returns 0 or an error number; 0 where the system cannot. */
static int reserve(int descriptor, off_t size)
{
#if HAVE_POSIX_FALLOCATE
    return posix_fallocate(descriptor, 0, size);
#else
    (void)descriptor;
    (void)size;
    return 0;
#endif
}

/* Overwrites a regular file. Allocates its space first, so that a full disk leaves it unchanged. */
static bool overwrite(int descriptor, const struct source *source)
{
    struct stat old;
    if (fstat(descriptor, &old) != 0)
        return false;
    const int refused = source->size > 0 ? reserve(descriptor, (off_t)source->size) : 0;
    if (refused == ENOSPC || refused == EFBIG || refused == EDQUOT || refused == EIO) {
        if (ftruncate(descriptor, old.st_size) == 0)
            errno = refused;
        return false;
    }
    return put(descriptor, source) && ftruncate(descriptor, (off_t)source->size) == 0 &&
           fsync(descriptor) == 0;
}

static bool cannot_write(const struct output_target *target, struct error *error)
{
    const char *what = target->kind == OUTPUT_DESCRIPTOR && target->descriptor == STDOUT_FILENO
                           ? "standard output"
                           : target->path;
    const char *advice =
        errno == EPIPE ? NULL : N_("free some space, or choose another place"); /* no reader */
    return error_set_errno(error, what, advice, "cannot write");
}

static bool refuse_terminal(const struct output_target *target, struct error *error)
{
    return error_set(error, ERROR_INPUT, target->path, "name a file",
                     "this is a terminal, and the document is not text");
}

static int open_existing(const char *path)
{
    int descriptor;
    do /* a FIFO waits here for its reader, and a signal interrupts that */
        descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    while (descriptor < 0 && errno == EINTR);
    return descriptor;
}

static bool put_into(const struct output_target *target, const struct source *source,
                     enum output_content content, struct error *error)
{
    if (target->kind == OUTPUT_DESCRIPTOR) {
        if (target->descriptor == STDOUT_FILENO)
            fflush(stdout); /* text that was printed earlier must come first */
        return put(target->descriptor, source) || cannot_write(target, error);
    }
    const int descriptor = open_existing(target->path);
    if (descriptor < 0)
        return cannot_write(target, error);
    bool written;
    if (target->kind == OUTPUT_STREAM && content == OUTPUT_BINARY && isatty(descriptor))
        written = refuse_terminal(target, error);
    else
        written = (target->kind == OUTPUT_STREAM ? put(descriptor, source)
                                                 : overwrite(descriptor, source)) ||
                  cannot_write(target, error);
    if (close(descriptor) != 0 && written)
        written = cannot_write(target, error);
    return written;
}

/* --- a temporary file that replaces the target --- */

#if HAVE_LINUX_XATTR
/* Copies one extended attribute of `path`, such as its access control list. */
static bool copy_attribute(int descriptor, const char *path, const char *name)
{
    const ssize_t size = getxattr(path, name, NULL, 0);
    char *value = size < 0 ? NULL : memory_new((size_t)size, 1, name, NULL);
    const bool copied = value && getxattr(path, name, value, (size_t)size) == size &&
                        fsetxattr(descriptor, name, value, (size_t)size, 0) == 0;
    free(value);
    return copied;
}

static bool copy_attributes(int descriptor, const char *path)
{
    const ssize_t size = listxattr(path, NULL, 0);
    if (size <= 0)
        return size == 0 || errno == ENOTSUP;
    char *names = memory_new((size_t)size + 1, 1, path, NULL);
    bool copied = names && listxattr(path, names, (size_t)size) == size;
    for (const char *name = names; copied && name < names + size; name += strlen(name) + 1)
        copied = copy_attribute(descriptor, path, name);
    free(names);
    return copied;
}
#else
/* Returns true: other systems' calls differ; mode and owner are kept there as well. */
static bool copy_attributes(int descriptor, const char *path)
{
    (void)descriptor;
    (void)path;
    return true;
}
#endif

/* Gives the temporary file the owner, attributes and mode of the target. The mode comes last,
 * because a change of owner clears privileged bits. */
static bool imitate(int descriptor, const struct output_target *target)
{
    struct stat own;
    const struct stat *old = &target->old;
    return fstat(descriptor, &own) == 0 &&
           ((own.st_uid == old->st_uid && own.st_gid == old->st_gid) ||
            fchown(descriptor, old->st_uid, old->st_gid) == 0) &&
           copy_attributes(descriptor, target->path) &&
           fchmod(descriptor, old->st_mode & 07777) == 0;
}

/* Opens a temporary file, unless the target must be written in place. */
static bool open_aside(struct output_file *output, struct error *error)
{
    struct output_target *target = &output->target;
    if (target->kind == OUTPUT_NEW)
        return file_writer_open_mode(&output->writer, target->path, 0666, error);
    if (target->kind != OUTPUT_REPLACED)
        return true;
    if (file_writer_open_mode(&output->writer, target->path, 0600, NULL) &&
        imitate(fileno(output->writer.stream), target))
        return true;
    file_writer_abandon(&output->writer);
    target->kind = OUTPUT_IN_PLACE;
    return true;
}

/* --- TARGET.part --- */

static bool refuse_part(const char *part, struct error *error)
{
    if (errno == EWOULDBLOCK)
        return error_set(error, ERROR_USAGE, part, "wait for its end, or choose another place",
                         "another process writes this file");
    if (errno == EINVAL || errno == ELOOP)
        return error_set(error, ERROR_INPUT, part, "remove it, or choose another place",
                         "this is not a file of yours that could be written to");
    return error_set_errno(error, part, "check that the folder exists and can be written to",
                           "cannot create");
}

/* Returns 0 if the open file is a regular one of this user, without further links, that no other
 * process has locked and that still has the name `path`; ESTALE if it has lost it; another error
 * number otherwise. */
static int check_part(int descriptor, const char *path)
{
    struct stat opened, named;
    if (fstat(descriptor, &opened) != 0)
        return errno;
    if (!S_ISREG(opened.st_mode) || opened.st_uid != geteuid())
        return EINVAL;
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return EWOULDBLOCK; /* other errors: this file system has no locks */
    if (lstat(path, &named) != 0 || named.st_ino != opened.st_ino || named.st_dev != opened.st_dev)
        return ESTALE; /* its writer has renamed it meanwhile */
    return named.st_nlink == 1 ? 0 : EINVAL;
}

/* Opens and locks TARGET.part. Returns a descriptor, or -1 with errno. */
static int open_locked(const char *path, mode_t mode)
{
    const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    int reason = ESTALE;
    while (reason == ESTALE) {
        const int descriptor = open(path, flags, mode);
        if (descriptor < 0)
            return -1;
        reason = check_part(descriptor, path);
        if (reason == 0)
            return descriptor;
        close(descriptor);
    }
    errno = reason;
    return -1;
}

/* Returns the stream of TARGET.part, or of a file without a name where none can be made beside an
 * existing target. NULL with an error. */
static FILE *open_part_stream(struct output_file *output, struct error *error)
{
    const bool is_new = output->target.kind == OUTPUT_NEW;
    const int descriptor = open_locked(output->part, is_new ? 0666 : 0600);
    FILE *stream = descriptor < 0 ? NULL : fdopen(descriptor, "r+b");
    if (!stream && descriptor < 0 && !is_new &&
        (errno == EACCES || errno == EROFS || errno == EPERM || errno == ENAMETOOLONG)) {
        free(output->part);
        output->part = NULL;
        stream = tmpfile();
    }
    if (!stream)
        refuse_part(output->part ? output->part : output->target.path, error);
    if (!stream && descriptor >= 0)
        close(descriptor);
    return stream;
}

/* Returns the path of TARGET.part, which the caller frees; NULL with an error. */
static char *part_of(const struct output_target *target, struct error *error)
{
    const size_t size = strlen(target->path) + sizeof ".part";
    char *part = memory_new(size, 1, target->path, error);
    if (part)
        snprintf(part, size, "%s.part", target->path);
    return part;
}

static bool open_part(struct output_file *output, bool continues, struct error *error)
{
    struct stat found;
    output->part = part_of(&output->target, error);
    if (!output->part)
        return false;
    output->stream = open_part_stream(output, error);
    if (!output->stream)
        return false;
    if (!continues)
        return ftruncate(fileno(output->stream), 0) == 0 || cannot_write(&output->target, error);
    if (output->part && fstat(fileno(output->stream), &found) == 0 && found.st_size > 0)
        output->earlier = output->part;
    else if (output->target.kind != OUTPUT_NEW)
        output->earlier = output->target.path;
    return true;
}

static bool open_direct(struct output_file *output, struct error *error)
{
    const struct output_target *target = &output->target;
    const bool named = target->kind == OUTPUT_STREAM;
    output->descriptor = named ? open_existing(target->path) : target->descriptor;
    if (output->descriptor < 0)
        return cannot_write(target, error);
    output->direct = true;
    if (named && output->content == OUTPUT_BINARY && isatty(output->descriptor))
        return refuse_terminal(target, error);
    output->collected = open_memstream(&output->document, &output->size);
    output->stream = output->collected;
    return output->stream || error_set_memory(error, target->path, 0);
}

bool output_file_open_part(struct output_file *output, const char *name,
                           enum output_content content, bool continues, struct error *error)
{
    *output = (struct output_file){.content = content, .lasting = true};
    if (!output_target_find(&output->target, name, content, error))
        return false;
    const enum output_kind kind = output->target.kind;
    if (kind == OUTPUT_DESCRIPTOR || kind == OUTPUT_STREAM ? open_direct(output, error)
                                                           : open_part(output, continues, error))
        return true;
    output_file_leave(output);
    return false;
}

/* Copies the first `end` bytes of the target to TARGET.part. */
static bool keep_target(struct output_file *output, uint64_t end, struct error *error)
{
    char block[1 << 16];
    FILE *from = file_open_stream(output->target.path, error);
    if (!from)
        return false;
    for (uint64_t left = end; left > 0;) {
        const size_t wanted = left < sizeof block ? (size_t)left : sizeof block;
        if (fread(block, 1, wanted, from) != wanted)
            break;
        fwrite(block, 1, wanted, output->stream);
        left -= wanted;
    }
    fclose(from);
    output->kept = end;
    return output_file_flush(output, error);
}

bool output_file_cut(struct output_file *output, uint64_t end, struct error *error)
{
    const bool own = output->earlier == output->part;
    if (output->earlier && !own && !keep_target(output, end, error))
        return false;
    return (ftruncate(fileno(output->stream), (off_t)end) == 0 &&
            fseeko(output->stream, (off_t)end, SEEK_SET) == 0) ||
           cannot_write(&output->target, error);
}

bool output_file_flush(struct output_file *output, struct error *error)
{
    bool written = fflush(output->stream) == 0 && !ferror(output->stream);
    if (written && output->direct) {
        const struct source source = {output->document, output->size, -1};
        if (output->descriptor == STDOUT_FILENO)
            fflush(stdout);
        written = put(output->descriptor, &source);
        rewind(output->stream);
    }
    return written || cannot_write(&output->target, error);
}

/* Brings the complete file to the target. TARGET.part stays if that fails. */
static bool commit_part(struct output_file *output, struct error *error)
{
    struct output_target *target = &output->target;
    const int descriptor = fileno(output->stream);
    struct stat status;
    if (fstat(descriptor, &status) != 0)
        return cannot_write(target, error);
    if (output->part && (target->kind == OUTPUT_NEW ||
                         (target->kind == OUTPUT_REPLACED && imitate(descriptor, target)))) {
        if (fsync(descriptor) != 0 || rename(output->part, target->path) != 0 ||
            !file_sync_directory_of(target->path))
            return cannot_write(target, error);
    } else {
        const struct source source = {NULL, (size_t)status.st_size, descriptor};
        target->kind = OUTPUT_IN_PLACE;
        if (!put_into(target, &source, output->content, error))
            return false;
        if (output->part)
            unlink(output->part);
    }
    free(output->part);
    output->part = NULL;
    return true;
}

void output_file_leave(struct output_file *output)
{
    struct stat status;
    if (output->part && output->stream && fflush(output->stream) == 0 &&
        fstat(fileno(output->stream), &status) == 0 && (uint64_t)status.st_size <= output->kept)
        unlink(output->part); /* also an empty one */
    output_file_abandon(output);
}

/* --- documents --- */

static bool begin(struct output_file *output, const char *name, enum output_content content,
                  struct error *error)
{
    *output = (struct output_file){.content = content};
    if (!output_target_find(&output->target, name, content, error))
        return false;
    if (open_aside(output, error))
        return true;
    output_file_abandon(output);
    return false;
}

/* Brings the complete document `source` to the target, and frees `output`. */
static bool deliver(struct output_file *output, const struct source *source, struct error *error)
{
    FILE *temporary = output->writer.stream;
    bool written;
    if (!temporary)
        written = put_into(&output->target, source, output->content, error);
    else if (put(fileno(temporary), source))
        written = file_writer_commit(&output->writer, error);
    else
        written = cannot_write(&output->target, error);
    output_file_abandon(output);
    return written;
}

bool output_file_open(struct output_file *output, const char *name, enum output_content content,
                      struct error *error)
{
    if (!begin(output, name, content, error))
        return false;
    output->collected =
        output->writer.stream ? NULL : open_memstream(&output->document, &output->size);
    output->stream = output->collected ? output->collected : output->writer.stream;
    if (output->stream)
        return true;
    output_file_abandon(output);
    return error_set_memory(error, name, 0);
}

bool output_file_commit(struct output_file *output, struct error *error)
{
    bool written;
    if (output->direct)
        written = output_file_flush(output, error);
    else if (output->lasting)
        written = output_file_flush(output, error) && commit_part(output, error);
    else if (!output->collected)
        written = file_writer_commit(&output->writer, error);
    else {
        const bool complete = fflush(output->collected) == 0 && !ferror(output->collected);
        const struct source source = {output->document, output->size, -1};
        written = complete ? put_into(&output->target, &source, output->content, error)
                           : error_set_memory(error, output->target.path, 0);
    }
    output_file_abandon(output);
    return written;
}

void output_file_abandon(struct output_file *output)
{
    if (output->collected)
        fclose(output->collected);
    else if (output->lasting && output->stream)
        fclose(output->stream);
    if (output->direct && output->target.kind == OUTPUT_STREAM && output->descriptor >= 0)
        close(output->descriptor);
    free(output->part);
    file_writer_abandon(&output->writer);
    free(output->document);
    output_target_free(&output->target);
    *output = (struct output_file){0};
}

bool output_file_write(const char *name, const void *bytes, size_t size,
                       enum output_content content, struct error *error)
{
    struct output_file output;
    const struct source source = {bytes, size, -1};
    return begin(&output, name, content, error) && deliver(&output, &source, error);
}

bool output_file_copy(const char *name, const char *source_path, struct error *error)
{
    struct output_file output;
    struct stat status;
    struct source source = {.descriptor = file_open_regular(source_path, error)};
    bool written = source.descriptor >= 0 && begin(&output, name, OUTPUT_BINARY, error);
    if (written && fstat(source.descriptor, &status) == 0)
        source.size = (size_t)status.st_size;
    written = written && deliver(&output, &source, error);
    if (source.descriptor >= 0)
        close(source.descriptor);
    return written;
}

/* --- questions --- */

bool output_file_check(const char *name, enum output_content content, struct error *error)
{
    struct output_target target;
    const bool found = output_target_find(&target, name, content, error);
    output_target_free(&target);
    return found;
}

bool output_file_is_stream(const char *name)
{
    struct output_target target;
    if (!output_target_find(&target, name, OUTPUT_TEXT, NULL))
        return false;
    output_target_free(&target);
    return target.kind == OUTPUT_DESCRIPTOR || target.kind == OUTPUT_STREAM;
}

bool output_file_is_stdout(const char *name)
{
    struct output_target target;
    if (!output_target_find(&target, name, OUTPUT_TEXT, NULL))
        return false;
    output_target_free(&target);
    return target.kind == OUTPUT_DESCRIPTOR && target.descriptor == STDOUT_FILENO;
}

/* The files that a document changes. */
struct places {
    struct output_target target;
    char *part; /* NULL: it goes to a descriptor, FIFO or device */
};

static bool find_places(struct places *places, const char *name, struct error *error)
{
    places->part = NULL;
    if (!output_target_find(&places->target, name, OUTPUT_TEXT, error))
        return false;
    const enum output_kind kind = places->target.kind;
    if (kind == OUTPUT_DESCRIPTOR || kind == OUTPUT_STREAM)
        return true;
    places->part = part_of(&places->target, error);
    return places->part;
}

static void free_places(struct places *places)
{
    output_target_free(&places->target);
    free(places->part);
}

/* Returns whether two paths lead to one file, which need not exist yet. */
static bool is_one_place(const char *a, const char *b)
{
    char folder[PATH_MAX], other[PATH_MAX];
    const char *name = file_base_name(a), *second = file_base_name(b);
    snprintf(folder, sizeof folder, "%.*s.", (int)(name - a), a);
    snprintf(other, sizeof other, "%.*s.", (int)(second - b), b);
    return file_is_same(a, b) || (strcmp(name, second) == 0 && file_is_same(folder, other));
}

bool output_file_spares(const char *name, char *const *inputs, size_t count, struct error *error)
{
    struct places places;
    bool spares = find_places(&places, name, error);
    const bool exists =
        places.part && (file_exists(places.target.path) || file_exists(places.part));
    for (size_t i = 0; spares && exists && i < count; i++)
        if (file_is_same(inputs[i], places.target.path) || file_is_same(inputs[i], places.part))
            spares = error_set(error, ERROR_USAGE, name, "choose another place",
                               "this would overwrite %s, which the command reads", inputs[i]);
    free_places(&places);
    return spares;
}

bool output_files_differ(const char *name, const char *other, struct error *error)
{
    struct places a = {0}, b = {0};
    bool differ = find_places(&a, name, error) && find_places(&b, other, error);
    if (differ && a.part && b.part &&
        (is_one_place(a.target.path, b.target.path) || is_one_place(a.part, b.target.path) ||
         is_one_place(a.target.path, b.part)))
        differ =
            error_set(error, ERROR_USAGE, name, "name another file",
                      "%s, or a file beside it that is written first, is the same file", other);
    free_places(&a);
    free_places(&b);
    return differ;
}

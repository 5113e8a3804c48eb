/*
 * watch.c - files that others replace: told when one is not what was read
 */
#include "daemon/watch.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/log.h"

#define CALM ((msec)100) /* several files are replaced together */
#define EVENTS ((size_t)4096)

struct watch {
	struct loop *loop;
	void (*changed)(void *arg);
	void *arg;
	int fd; /* -1: there is only looking */
	struct event event;
	struct timer calm;
	const struct secret_files *files;
	struct secret_mark *mark; /* of each, when it was last looked at */
};

static void
add_directory(struct watch *w, const char *path)
{
	const uint32_t mask = IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM |
			      IN_MOVED_TO | IN_ATTRIB | IN_ONLYDIR;
	const char *slash = strrchr(path, '/');
	char *directory = slash == NULL || slash == path
			      ? mem_strdup("/")
			      : str_dup((struct str){ path, (size_t)(slash - path) });

	if (inotify_add_watch(w->fd, directory, mask) < 0 && errno == ENOSPC)
		log_warn("a directory of keys is looked at every half minute only: "
			 "fs.inotify.max_user_watches is used up",
		    "directory", directory);
	free(directory);
}

/* Where it stands, and where what it links to stands.  Adding again is nothing. */
static void
add_directories(struct watch *w)
{
	char target[PATH_MAX];

	for (size_t i = 0; w->fd >= 0 && i < w->files->n; i++) {
		const char *path = w->files->p[i].path;
		add_directory(w, path);
		if (realpath(path, target) != NULL)
			add_directory(w, target);
	}
}

void
watch_look(struct watch *w)
{
	bool is_other = false;

	for (size_t i = 0; w->files != NULL && i < w->files->n; i++) {
		struct secret_mark now;
		if (!secret_mark(&now, w->files->p[i].path))
			continue;
		is_other |= !secret_mark_eq(&now, &w->mark[i]);
		w->mark[i] = now;
	}
	if (!is_other)
		return;
	add_directories(w);
	w->changed(w->arg);
}

static void
on_calm(void *arg)
{
	watch_look(arg);
}

static void
on_event(evutil_socket_t fd, short what, void *arg)
{
	struct watch *w = arg;
	char events[EVENTS];

	(void)what;
	while (read(fd, events, sizeof(events)) > 0)
		;
	if (!timer_is_set(&w->calm))
		timer_set(w->loop, &w->calm, CALM);
}

struct watch *
watch_new(struct loop *loop, void (*changed)(void *arg), void *arg)
{
	struct watch *w = mem_zalloc(sizeof(*w));

	w->loop = loop;
	w->changed = changed;
	w->arg = arg;
	timer_init(&w->calm, on_calm, w);
	w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (w->fd < 0) {
		log_warn(
		    "keys are looked at every half minute only", "err", strerror(errno));
		return w;
	}
	event_assign(
	    &w->event, loop_base(loop), w->fd, EV_READ | EV_PERSIST, on_event, w);
	event_add(&w->event, NULL);
	return w;
}

void
watch_free(struct watch *w)
{
	if (w == NULL)
		return;
	timer_clear(&w->calm);
	if (w->fd >= 0) {
		event_del(&w->event);
		close(w->fd);
	}
	free(w->mark);
	free(w);
}

void
watch_set(struct watch *w, const struct secret_files *files)
{
	w->files = files;
	w->mark = mem_resize(w->mark, (files->n + 1) * sizeof(*w->mark));
	for (size_t i = 0; i < files->n; i++)
		w->mark[i] = files->p[i].mark;
	add_directories(w);
	/* one that was replaced before its directory was watched */
	timer_set(w->loop, &w->calm, CALM);
}

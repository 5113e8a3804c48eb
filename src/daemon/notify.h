/*
 * notify.h - telling the service manager, one datagram at a time (sd_notify protocol)
 */
#ifndef WEIR_DAEMON_NOTIFY_H
#define WEIR_DAEMON_NOTIFY_H

/* "READY=1", "STOPPING=1", ...  Does nothing without NOTIFY_SOCKET. */
void notify(const char *state);

#endif

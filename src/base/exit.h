/*
 * exit.h - how weir ends: the exit codes, those of sysexits.h where it has one
 */
#ifndef WEIR_BASE_EXIT_H
#define WEIR_BASE_EXIT_H

enum {
	EXIT_YES = 0,
	EXIT_NO = 1,           /* the answer is no */
	EXIT_USAGE = 64,       /* called wrongly */
	EXIT_NOINPUT = 66,     /* a file that was named cannot be read */
	EXIT_UNAVAILABLE = 69, /* something weir needs is away */
	EXIT_SOFTWARE = 70,    /* our own end: no memory */
	EXIT_CONFIG = 78,      /* configuration or policy invalid */
};

#endif

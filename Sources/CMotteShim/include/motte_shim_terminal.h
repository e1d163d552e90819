/* A shell's terminal: Ctrl-C, and editing of lines through libedit, which is loaded when it is used first. One thread
 * reads lines. */
#ifndef MOTTE_SHIM_TERMINAL_H
#define MOTTE_SHIM_TERMINAL_H

/* From here on Ctrl-C gives up the line that is read, or notes that the statement that runs is to end; one that comes
 * while another is noted ends the program. */
void motte_shim_catch_interruption(void);
/* The same of a program that has to clear up before it ends, also by SIGTERM and SIGHUP; 0: not any more. */
void motte_shim_catch_end(int isWanted);
/* While another program, which Ctrl-C is meant for as well, is waited for, it never ends this one. */
void motte_shim_be_patient(int isPatient);
int motte_shim_is_interrupted(void);
void motte_shim_clear_interruption(void);

/* What may stand in place of `word`, the end of `before`: texts that are each ended by a line feed, from malloc. NULL
 * for names of files. */
typedef char *(*motte_shim_completer)(const char *before, const char *word);

/* 0, or -1 where there is no libedit. The environment variable MOTTE_LIBEDIT names another file than libedit.so.2 and
 * libedit.so.0. */
int motte_shim_edit_load(motte_shim_completer completer);
void motte_shim_edit_remember(const char *line);

/* A line from malloc, with history and completion if libedit is loaded. NULL at the end of the input, and when Ctrl-C
 * came, which sets `*out_interrupted`. */
char *motte_shim_read_line(const char *prompt, int *out_interrupted);

#endif

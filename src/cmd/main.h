/*
 * main.h - the subcommands and how they end
 */
#ifndef WEIR_CMD_MAIN_H
#define WEIR_CMD_MAIN_H

#include "base/exit.h"

/* argv[0] is the subcommand's name. */
int cmd_run(int argc, char **argv);
int cmd_audit(int argc, char **argv);
int cmd_ca(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_ctl(int argc, char **argv);
int cmd_env(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_forward(int argc, char **argv);
int cmd_ledger(int argc, char **argv);
int cmd_meter(int argc, char **argv);
int cmd_redact(int argc, char **argv);
int cmd_token(int argc, char **argv);
int cmd_verify(int argc, char **argv);

#endif

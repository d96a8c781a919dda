/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The subcommands of odrpctl.  Each returns an exit status. */
#ifndef CTL_ODRPCTL_H
#define CTL_ODRPCTL_H

enum {
	EXIT_OK		= 0,
	EXIT_NOT_OK	= 1,	/* the answer is no */
	EXIT_USAGE	= 2,
	EXIT_TROUBLE	= 3,	/* there is no answer */
};

int mnode_main(int argc, char **argv);
int swap_main(int argc, char **argv);
int key_main(int argc, char **argv);

#endif /* CTL_ODRPCTL_H */

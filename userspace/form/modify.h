/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A function of far/modify.h as an operation of one key: alone, or in a batch. */
#ifndef FAR_FORM_MODIFY_H
#define FAR_FORM_MODIFY_H

#include "../core/combine.h"

/*
 * *state, which was read, becomes what is to be published, if far_state_publishes(). All of
 * the batch is applied; without one, NULL, the function alone, and an error of
 * far_modify_apply() is the operation's. The same rules as of far_combine_modify() hold.
 */
int form_modify(struct far_combine_batch *batch, const struct far_modify *modify,
		struct far_state *state);

#endif

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Spaces: which key opens them, and who knows their addresses. */
#include "insn.h"

enum wrc_class wrc_space_class(enum wrc_space space)
{
	switch (space) {
	case WRC_SP_FIELD:
	case WRC_SP_REG:
	case WRC_SP_DBR:
	case WRC_SP_CELL:
	case WRC_SP_RECV:
		return WRC_CL_ARENA;
	case WRC_SP_BUF:
		return WRC_CL_BUF;
	case WRC_SP_TT:
	case WRC_SP_EMPTY:
		return WRC_CL_TT;
	case WRC_SP_HEAD:
	case WRC_SP_TAIL:
	case WRC_SP_SLOT:
		return WRC_CL_FREE;
	case WRC_SP_POOL:
		return WRC_CL_POOL;
	case WRC_SP_PEER:
		return WRC_CL_PEER;
	case WRC_SP_TURN:
	case WRC_SP_CHOICE:
		return WRC_CL_TURN;
	case WRC_SP_KEYMAP:
		return WRC_CL_KEYMAP;
	case WRC_SP_NONE:
	case WRC_NR_SPACES:
		break;
	}
	return WRC_CL_NONE;
}

bool wrc_space_static(enum wrc_space space)
{
	switch (space) {
	case WRC_SP_TT:
	case WRC_SP_EMPTY:
	case WRC_SP_SLOT:
	case WRC_SP_POOL:
	case WRC_SP_PEER:
	case WRC_SP_KEYMAP:
		return false;
	default:
		return true;
	}
}

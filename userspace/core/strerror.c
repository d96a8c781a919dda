// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Errors of the library in words; see far/far.h. */
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>

#include <far/far.h>

static const struct {
	int err;
	const char *text;
} sentences[] = {
	{ 0, "no error" },
	/* what is asked for */
	{ -ENOENT, "there is no such space, structure or key" },
	{ -EEXIST, "the name or the key exists already" },
	{ -EMEDIUMTYPE, "a structure of another type has that name" },
	{ -EPROTONOSUPPORT, "another version of libfar made it: expected that of this one" },
	{ -EINVAL, "an argument is empty, too long or out of range" },
	{ -E2BIG, "the key or the value is longer than it can be" },
	{ -EMSGSIZE, "the value is longer than the buffer" },
	{ -ENAMETOOLONG, "a name is longer than it can be" },
	{ -EFAULT, "the address is not within the space" },
	{ -EOPNOTSUPP, "this back end or this structure cannot do that" },
	{ -EACCES, "this user or this key has no right to it" },
	{ -EPERM, "the task belongs to another thread, or the right is missing" },
	{ -EBUSY, "somebody still uses it, a thread has not been joined, or a scan is under way" },
	{ -EDEADLK, "the caller would wait for itself" },
	{ -ESHUTDOWN, "the queue of calls stops: the call was not begun" },
	{ -EBADF, "the descriptor is not open" },
	/* what is used up */
	{ -ENOSPC, "the space is full" },
	{ -ENOMEM, "this process gets no memory" },
	{ -EMFILE, "this process has as many descriptors as it may have" },
	{ -EUSERS, "no client number of the space is free" },
	/* what became of an operation */
	{ -ETIME, "it was late and was given up; nothing was changed" },
	{ -ETIMEDOUT, "the memory node does not answer; a change may have happened" },
	{ -EIO, "the connection broke; a change may have happened" },
	{ -EHOSTDOWN, "the memory node is away; a change may have happened" },
	{ -ECANCELED, "it was given up before it was posted" },
	/* what became of a request of RPC */
	{ -ENOTCONN, "there was no connection to the server: the request has not run" },
	{ -ECONNRESET, "the connection to the server broke: the request may have run" },
	{ -ENOBUFS, "the response is longer than the caller's buffer: the request has run" },
	{ -ENOSYS, "the server has no such handler: the request has not run" },
	{ -ENOMSG, "no response waits: nothing was sent, or all responses were taken" },
	{ -EADDRINUSE, "another process offers that service already" },
	{ -EISCONN, "there is such a connection already" },
	{ -ESTALE, "this client was fenced, or the parent of this process has it: open a new "
		   "one" },
	{ -EBADMSG, "the structure is damaged: \"far space check\" says where" },
	/* what a memory node answers */
	{ -EHOSTUNREACH, "no such node, or it does not answer" },
	{ -EAFNOSUPPORT, "datagrams need a port of RoCE v2 that is up and has an IPv4 address, "
			 "that of ip= if there is one" },
	{ -EADDRNOTAVAIL, "this client has the address of the memory node" },
	{ -ENETDOWN, "the port of the NIC is not active" },
	{ -ECONNREFUSED, "nobody there offers that service, or the memory node serves no spaces" },
	{ -EPROTO, "that is no space, or one of another version of libfar" },
	{ -EAGAIN, "not now: a queue is full, or not all memory nodes of the set have joined" },
	{ -EINPROGRESS, "the memory node starts and is not ready: try again later" },
	{ -ENOKEY, "the memory node lets in only who has a secret: expected key=NAME behind the "
		   "back end" },
	{ -EKEYREJECTED, "the memory node does not know this name with this secret" },
	{ -ENODEV, "there is no such device" },
};

const char *far_strerror(int err)
{
	const char *text;

	for (size_t i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++)
		if (sentences[i].err == err)
			return sentences[i].text;
	text = err < 0 && err != INT_MIN ? strerrordesc_np(-err) : NULL;
	return text ? text : "an error without words";
}

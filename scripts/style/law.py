# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The layering law of docs/architecture.md as a table: check-includes holds
#include lines against it, check-symbols what the libraries call.
"""
import os
import re
from collections import namedtuple

UAPI = 'include/uapi/odrp/'
CORE = 'wrchain/core/'
PORT = CORE + 'port.h'
# The chain compiler's one public header; its types are core's.
API = 'wrchain/wrc.h'
PROG = 'wrchain/prog/'
# What no agent can arm.
PAPER = 'wrchain/paper/'
MODEL = 'wrchain/model/'
CHARGE = MODEL + 'charge.'
MLX5 = 'wrchain/mlx5/'
SNIC = 'wrchain/snic/'
ENGINE, TRANSPORT, NET, CM, DEVICE, PORTS, RUN = (
    SNIC + room + '/'
    for room in ('engine', 'transport', 'net', 'cm', 'device', 'ports', 'run'))
# Descriptors and threads of a library in a program's process.
OWN = 'wrchain/own/'
NIC = 'wrchain/nic/'
TOOLS = 'wrchain/tools/'
# What libfar installs, and its table of NIC functions.
FAR = 'userspace/include/far/'
(FAR_AUTH, FAR_BASE, FAR_SPACE, FAR_PEER, FAR_HOST, FAR_NIC, FAR_CORE, FAR_FORM,
 FAR_HASH, FAR_BTREE, FAR_ART, FAR_MEMORY, FAR_ASYNC,
 FAR_RPC) = (
    'userspace/' + part + '/'
    for part in ('auth', 'base', 'space', 'peer', 'host', 'nic', 'core', 'form',
                 'hash', 'btree', 'art', 'memory', 'async',
                 'rpc'))
FAR_TABLE = FAR_NIC + 'nic.h'
# Structures as others published them.
FAR_PAPER = 'userspace/paper/'

VERBS = r'(infiniband|rdma)/'
KERNEL = r'(linux|asm|rdma|trace|net|uapi|crypto|keys)/'
MODULE_HEADERS = r'linux/(module|kernel|slab|blk|bio|swap|mm|fs)[.a-z_-]*h?$'
NONE = r'$^'
ANY = r'.'
# Of libc: what core/port.h stands for, in the kernel too.
PORT_CALLS = (r'(__)?(mem(cpy|set|cmp|move)|str(n?cmp|n?len|chr)|v?snprintf)'
              r'(_chk)?$')

# may:		layers that it includes and calls, besides itself
# headers:	<headers> of others that it may include; None: any but those of
#		the kernel module's world
# why:		for people
# face:		its headers that other layers may include; None: all but those
#		that are called private
# calls:	functions outside the tree that it may call; None: libc's
# libs:		shared libraries beside libc that it may call
Layer = namedtuple('Layer', 'may headers why face calls libs',
                   defaults=(None, None, ()))

BASE = [UAPI, CORE, PORT, API]
ROOM = BASE + [SNIC]
NO_VERBS = r'(?!' + VERBS + r')'

# The longest prefix of a file's path is its layer.
LAW = {
    UAPI: Layer([], r'linux/(types|build_bug)\.h$',
                'the wire includes <linux/types.h> only'),
    CORE: Layer([UAPI, PORT, API], NONE,
                'core is clean for kernel and user space, through port.h alone',
                calls=PORT_CALLS),
    PORT: Layer([UAPI, CORE, API], ANY, ''),
    API: Layer([UAPI, CORE], NONE, 'wrc.h is core\'s face'),
    PROG: Layer(BASE, NONE, 'a program knows core only', calls=PORT_CALLS),
    PAPER: Layer(BASE + [PROG], NONE,
                 'what ours is compared with knows core and programs',
                 calls=PORT_CALLS),
    MODEL: Layer(BASE + [PAPER], r'math\.h$',
                 'the cost model knows programs, and no clock', libs=('m',)),
    CHARGE: Layer(BASE + [MODEL, SNIC], r'(math|string)\.h$',
                  'the adapter knows the model and the software NIC',
                  libs=('m',)),
    MLX5: Layer(BASE, None, 'mlx5 knows core and verbs',
                libs=('ibverbs', 'mlx5')),
    SNIC: Layer(BASE, NO_VERBS, 'the software NIC knows core'),
    ENGINE: Layer(ROOM, NO_VERBS,
                  'the engine calls rooms above it by struct snic_upper',
                  ('engine.h',)),
    NET: Layer(ROOM + [ENGINE], NO_VERBS,
               'the network calls rooms above it by struct snic_upper',
               ('net.h', 'frame.h', 'pkt.h'), libs=('deflate',)),
    TRANSPORT: Layer(ROOM + [ENGINE, NET], NO_VERBS,
                     'the transport knows the engine and the network',
                     ('transport.h',)),
    CM: Layer(ROOM + [ENGINE, TRANSPORT, NET], NO_VERBS,
              'the CM knows queue pairs and the network', ('cm.h',)),
    DEVICE: Layer(ROOM + [ENGINE, TRANSPORT, NET, CM], NO_VERBS,
                  'the device puts the rooms together', ('device.h',)),
    OWN: Layer([], NO_VERBS, 'own knows the process'),
    PORTS: Layer(ROOM + [NET, OWN], NO_VERBS, 'ports know frames only', ()),
    RUN: Layer(ROOM + [ENGINE, NET, CM, DEVICE, OWN], NO_VERBS,
               'runners know the rooms by their faces', ()),
    NIC: Layer(BASE + [MLX5, SNIC], None,
               'the table of NIC functions knows its back ends',
               ('nic.h', 'node.h', 'soft.h', 'mlx5.h', 'verbs.h', 'auto.h', 'cm.h',
                'verdict.h'),
               libs=('json-c', 'ibverbs', 'rdmacm')),
    TOOLS: Layer(BASE + [PROG, PAPER, MODEL, MLX5, SNIC], None,
                 'tools know wrchain'),
    'mnode/': Layer(BASE + [NIC, OWN, FAR_AUTH, FAR_SPACE, FAR_PEER, FAR_HOST],
                    None,
                    'the agent knows the wire, the compiler, the NIC table and '
                    'spaces',
                    libs=('systemd', 'json-c', 'inih')),
    'mnode/hwcheck/': Layer(BASE + [MLX5, SNIC, NIC, 'mnode/'], None,
                            'the card\'s examiner knows the agent',
                            libs=('json-c',)),
    'mnode/ctl/': Layer([UAPI, FAR_AUTH, 'mnode/'], None,
                        'odrpctl knows the agent\'s settings',
                        libs=('json-c', 'inih')),
    'kmod/': Layer([UAPI, CORE, PORT, API], KERNEL,
                   'the module knows the wire, core and the kernel'),
    FAR: Layer([], r'(std(def|int|bool)|sys/types|far/\w+)\.h$',
               'a public header stands alone'),
    FAR_AUTH: Layer([UAPI], r'(?!infiniband|rdma|linux/(?!types))',
                    'proofs and secrets know the wire, and no NIC',
                    libs=('nettle',)),
    FAR_BASE: Layer([FAR], None, 'base knows nothing of far memory',
                    libs=('boost_context',)),
    FAR_SPACE: Layer([UAPI, FAR, FAR_BASE], None,
                     'a space is memory, and knows no NIC'),
    FAR_PEER: Layer([UAPI, FAR, FAR_AUTH, FAR_BASE], NO_VERBS,
                    'a call knows messages and proofs, and no NIC'),
    FAR_HOST: Layer(BASE + [MLX5, NIC, FAR, FAR_AUTH, FAR_BASE, FAR_SPACE,
                            FAR_PEER], NO_VERBS,
                    'a memory node\'s side knows spaces and wrchain\'s table'),
    FAR_TABLE: Layer([FAR, FAR_BASE, FAR_SPACE], None,
                     'the table knows no back end'),
    FAR_NIC: Layer(BASE + [MLX5, SNIC, OWN, NIC, FAR, FAR_AUTH, FAR_BASE, FAR_SPACE,
                           FAR_PEER, FAR_HOST, FAR_TABLE], None,
                   'a back end knows spaces and wrchain',
                   libs=('m', 'inih', 'boost_context', 'ibverbs', 'rdmacm')),
    FAR_CORE: Layer([UAPI, OWN, FAR, FAR_BASE, FAR_SPACE, FAR_TABLE], NO_VERBS,
                    'core knows the table and no back end',
                    libs=('boost_context',)),	# base/fiber.h switches inline
    FAR_FORM: Layer([FAR, FAR_BASE, FAR_CORE], NO_VERBS,
                    'what structures have in common knows core and no structure'),
    **{structure: Layer([FAR, FAR_BASE, FAR_CORE, FAR_FORM], NO_VERBS,
                        'a structure knows form and no other structure')
       for structure in (FAR_HASH, FAR_BTREE, FAR_ART, FAR_MEMORY)},
    FAR_ASYNC: Layer([OWN, FAR, FAR_BASE, FAR_CORE, FAR_TABLE, FAR_HASH, FAR_BTREE,
                      FAR_ART], NO_VERBS,
                     'queues of calls know core and structures'),
    FAR_RPC: Layer([FAR, FAR_BASE, FAR_CORE, FAR_TABLE], NO_VERBS,
                   'RPC knows core and the table, and no structure'),
    FAR_PAPER: Layer(None, NO_VERBS,
                     'what ours is compared with knows structures inside'),
    'userspace/': Layer([UAPI, OWN, FAR, FAR_BASE, FAR_SPACE, FAR_TABLE, FAR_NIC,
                         FAR_CORE, FAR_FORM, FAR_HASH, FAR_BTREE, FAR_ART, FAR_MEMORY,
                         FAR_ASYNC, FAR_RPC, FAR_PAPER],
                        None, 'programs know libfar', libs=('m', 'json-c')),
    'tests/': Layer(None, ANY, ''),
    'scripts/': Layer(None, ANY, ''),
}

# Public headers, by layer, and the layers that keep what they declare. Whoever may use
# the header, and is none of these layers, may call its functions.
FACES = {
    API: ([API], [CORE, PROG, MLX5]),
    SNIC: ([SNIC + 'snic.h', SNIC + 'vt.h'],
           [ENGINE, TRANSPORT, NET, CM, DEVICE, PORTS, RUN]),
    FAR_TABLE: ([FAR_TABLE], [FAR_NIC]),
}

# What a layer calls and a layer above supplies.
HOOKS = {
    FAR_CORE: ('far_type_all',),
}

PRIVATE = re.compile(r'.+[-_]priv\.h$')


def layer_of(path):
    fits = [p for p in LAW if path.startswith(p)]
    return max(fits, key=len) if fits else None


def may_use(layer, target_layer):
    may = LAW[layer].may
    return may is None or target_layer == layer or target_layer in may


def is_private(path):
    """Is this header for its own layer only?"""
    face, name = LAW[layer_of(path)].face, os.path.basename(path)
    return not face is None and name not in face or bool(PRIVATE.match(name))

# SPDX-License-Identifier: Apache-2.0
"""What an inference server tells hintierd: one file, nothing but the standard library.

    import hintier

    with hintier.Client() as tier:
        tier.session_started("s1", ["0a3f….bin", "77c2….bin"])
        tier.session_resumes("s1", in_ms=2000)   # the user is typing: have its blocks fetched
        tier.session_ended("s1")                 # nobody will read them again

Names are file names of KV blocks, or paths below the watched directory `root`, head of the chain
first; `root` may be left out when hintierd watches only one. Each call answers hintierd's answer as
a dict, or raises Refused (it said no, and why) or OSError (it is not there, or hung up). When it is
not there nothing is lost but speed: carry on, and connect again now and then. A client is for one
thread.
"""

import array
import json
import socket

SOCKET = "/run/hintier/hintierd.sock"


class Refused(Exception):
    """hintierd's reason for saying no."""


class Client:
    def __init__(self, path=SOCKET, timeout=5.0):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout)
        try:
            self._socket.connect(path)
        except OSError:
            self._socket.close()
            raise

    def session_started(self, session, names=(), root=None):
        """A session and its blocks so far; say it again to add blocks."""
        return self.ask("session_started", session=session, names=list(names), root=root)

    def session_resumes(self, session, in_ms=0, names=None, root=None):
        """It goes on then: its blocks are fetched by that time."""
        return self.ask("session_resumes", session=session, in_ms=in_ms, names=_list(names), root=root)

    def session_ended(self, session, names=None, root=None):
        """Nobody will read its blocks again. Without names: those told before."""
        return self.ask("session_ended", session=session, names=_list(names), root=root)

    def request_queued(self, names, in_ms=0, session=None, root=None):
        """A request waits that will read these blocks."""
        return self.ask("request_queued", names=list(names), in_ms=in_ms, session=session, root=root)

    def load(self, file, in_ms=0, klass=None):
        """The file, open for reading (an object or a descriptor), will be read whole."""
        fd = file if isinstance(file, int) else file.fileno()
        return self.ask("load", fd, in_ms=in_ms, fds=1, **{"class": klass})

    def advise(self, recompute_ms, names=None, bytes=None, root=None):
        """True if restoring the blocks is faster than computing them again in that time."""
        answer = self.ask(
            "advise", recompute_ms=recompute_ms, names=_list(names), bytes=bytes, root=root
        )
        return answer["restore"]

    def ask(self, op, fd=None, **members):
        """One line there, one line back."""
        request = {"op": op, **{name: value for name, value in members.items() if value is not None}}
        line = json.dumps(request).encode() + b"\n"
        try:
            answer = self._exchange(line, fd)
        except OSError:
            self.close()  # a late answer would be taken for that to another question
            raise
        if not answer.get("ok"):
            raise Refused(answer.get("error", "refused"))
        return answer

    def _exchange(self, line, fd):
        rights = []
        if fd is not None:
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
        sent = self._socket.sendmsg([line], rights)
        self._socket.sendall(line[sent:])
        received = b""
        while not received.endswith(b"\n"):
            part = self._socket.recv(65536)
            if not part:
                raise ConnectionError("hintierd hung up")
            received += part
        return json.loads(received)

    def close(self):
        self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _list(names):
    return None if names is None else list(names)

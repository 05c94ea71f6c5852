"""One worker for each peer, run as ``python -m bench.peers.ask_NAME`` by the interpreter of the peer's environment.

Nothing of this package but ``worker`` may be imported here: only the standard library and the peer are installed.
"""

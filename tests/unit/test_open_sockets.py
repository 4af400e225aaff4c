"""A socket that nothing closes: the output says which test and which line has opened it."""

from __future__ import annotations

import socket

import pytest


def test_the_output_names_where_a_socket_was_opened(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.warns(ResourceWarning, match="unclosed <socket"):
        socket.socket()
    said = capsys.readouterr().err
    assert "A socket was not closed. It was opened in tests/unit/test_open_sockets.py::test_the_output_names" in said
    assert ", in test_the_output_names_where_a_socket_was_opened\n" in said


def test_closed_sockets_are_not_named(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket():
        pass
    one, other = socket.socketpair()
    socket.close(one.detach())
    with other.makefile() as reader:
        other.close()
    assert reader.closed
    assert capsys.readouterr().err == ""

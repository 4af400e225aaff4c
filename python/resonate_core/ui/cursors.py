"""Cursors that say nothing: where a page begins, sealed for one principal and one view."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode

from .parameters import BadParameter

__all__ = ["Cursors"]

_TAG = 16


class Cursors:
    """Seals and opens cursors. A sealed place can be neither read nor changed, and opens for the same owner only.

    Args:
        secret: What the key is derived from. Processes that serve the same dashboard share it; by default each has its own.

    Example:
        >>> from resonate_core.ui.cursors import Cursors
        >>> cursors = Cursors("a secret of the processes of one dashboard")
        >>> sealed = cursors.seal("17/shop.order-7", ("ann", "jobs"))
        >>> "shop" in sealed, cursors.open(sealed, ("ann", "jobs"))
        (False, '17/shop.order-7')
    """

    def __init__(self, secret: str | None = None) -> None:
        seed = secrets.token_bytes(32) if secret is None else secret.encode()
        self._tags, self._streams = (hmac.digest(seed, b"resonate cursors: " + use, "sha256") for use in (b"tag", b"stream"))

    def seal(self, place: str, owner: object) -> str:
        """Return a cursor for a place; the same for the same place and owner.

        Args:
            place: Any text.
            owner: The principal that may use it, and the view: compared by its representation.
        """
        plain = place.encode("utf-8", "surrogatepass")
        plain += b"\0" * (-(len(plain) + 1) % 32) + bytes([-(len(plain) + 1) % 32])  # the length of an id is not told
        tag = self._tag(plain, owner)
        return urlsafe_b64encode(tag + self._mixed(plain, tag)).rstrip(b"=").decode()

    def open(self, sealed: str, owner: object) -> str:
        """Return the place of a cursor.

        Raises:
            BadParameter: It is not a cursor that this owner was given.
        """
        try:
            content = urlsafe_b64decode(sealed.encode("ascii") + b"=" * (-len(sealed) % 4))
        except ValueError:
            content = b""
        tag, plain = content[:_TAG], self._mixed(content[_TAG:], content[:_TAG])
        if not plain or not hmac.compare_digest(tag, self._tag(plain, owner)):
            raise BadParameter("cursor must be the next of a page of this view that you were shown; read the first page again")
        return plain[: -1 - plain[-1]].decode("utf-8", "surrogatepass")

    def _tag(self, plain: bytes, owner: object) -> bytes:
        about = hashlib.sha256(repr(owner).encode("utf-8", "surrogatepass")).digest()
        return hmac.digest(self._tags, about + plain, "sha256")[:_TAG]

    def _mixed(self, content: bytes, tag: bytes) -> bytes:
        """Encrypt or decrypt, by a stream of HMACs that begins with the tag: equal streams belong to equal contents."""
        size = len(content)
        blocks = (hmac.digest(self._streams, tag + number.to_bytes(4, "big"), "sha256") for number in range(-(-size // 32)))
        return bytes(a ^ b for a, b in zip(content, b"".join(blocks), strict=False))
